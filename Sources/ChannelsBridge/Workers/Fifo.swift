/// A queue whose elements are each moved about once, on average.
struct Fifo<Element>: Sequence {
    /// The elements before `start` have been taken.
    private var elements: [Element?] = []
    private var start = 0

    var count: Int { elements.count - start }
    var isEmpty: Bool { count == 0 }
    var first: Element? { start < elements.count ? elements[start] : nil }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Puts elements in front of all others.
    mutating func prepend(_ elements: [Element]) {
        guard !elements.isEmpty else { return }
        self.elements.replaceSubrange(..<start, with: elements.map(Optional.some))
        start = 0
    }

    /// Inserts an element before the first one for which a condition holds. The condition must also hold for
    /// all later ones.
    mutating func insert(_ element: Element, before isBehind: (Element) -> Bool) {
        let index = elements[start...].firstIndex { $0.map(isBehind) ?? false }
        elements.insert(element, at: index ?? elements.endIndex)
    }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        defer { remove(1) }
        return elements[start].take()
    }

    /// Takes this many elements. The queue must have as many.
    mutating func popFirst(_ count: Int) -> [Element] {
        let taken = elements[start..<(start + count)].compactMap { $0 }
        for index in start..<(start + count) { elements[index] = nil }
        remove(count)
        return taken
    }

    /// Removes the elements for which a condition holds.
    mutating func removeAll(where isRemoved: (Element) -> Bool) {
        elements.removeAll { $0.map(isRemoved) ?? true }
        start = 0
    }

    private mutating func remove(_ count: Int) {
        start += count
        // Only when at least half of the elements have been taken, so that the others are not moved for each.
        guard start * 2 >= elements.count else { return }
        elements.removeFirst(start)
        start = 0
    }

    func makeIterator() -> some IteratorProtocol<Element> {
        elements[start...].lazy.compactMap { $0 }.makeIterator()
    }
}

extension Fifo: Sendable where Element: Sendable {}
