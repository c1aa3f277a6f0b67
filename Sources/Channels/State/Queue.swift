/// A first-in, first-out queue whose memory is given back when it is empty.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var first = 0

    var isEmpty: Bool { first == elements.count }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// The element that waits last, to be read and replaced; nil where none waits.
    var last: Element? {
        get { first < elements.count ? elements[elements.count - 1] : nil }
        set { elements[elements.count - 1] = newValue }
    }

    mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        let element = elements[first]
        elements[first] = nil
        first += 1
        if first == elements.count {
            elements.removeAll(keepingCapacity: first <= 64)
            first = 0
        } else if first > 64, first * 2 > elements.count {
            // Under a steady stream it is never empty.
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
