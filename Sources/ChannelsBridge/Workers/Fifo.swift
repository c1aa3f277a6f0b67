/// A queue in which each element is moved once on average.
struct Fifo<Element>: Sequence {
    /// The elements before `first` have been taken.
    private var elements: [Element?] = []
    private var first = 0

    var count: Int { elements.count - first }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Puts elements in front of all others.
    mutating func prepend(_ elements: [Element]) {
        self.elements.replaceSubrange(..<first, with: elements.map(Optional.some))
        first = 0
    }

    mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        defer {
            first += 1
            // Only when half of them have been taken.
            if first * 2 >= elements.count {
                elements.removeFirst(first)
                first = 0
            }
        }
        return elements[first].take()
    }

    func makeIterator() -> some IteratorProtocol<Element> {
        elements[first...].lazy.compactMap { $0 }.makeIterator()
    }
}
