/// A FIFO of values of one type: a ``MessageQueue`` that knows the type.
struct Queue<Element>: ~Copyable {
    private var messages = MessageQueue(MessageLayout(Element.self))

    var isEmpty: Bool { messages.isEmpty }

    var first: Element? { messages.isEmpty ? nil : messages.peek().message.load(as: Element.self) }

    mutating func append(_ element: Element) {
        messages.freeSlot.initialize(to: element)
        messages.fillSlot()
    }

    mutating func popFirst() -> Element? {
        guard !messages.isEmpty else { return nil }
        let element = messages.peek().message.move(as: Element.self)
        messages.emptySlot()
        if messages.isEmpty { messages.giveBack() }
        return element
    }

    /// Changes the first element and returns what the body returns; nil if there is none.
    mutating func withFirst<Result>(_ body: (inout Element) -> Result) -> Result? {
        messages.isEmpty ? nil : messages.peek().message.mutate(as: Element.self, body)
    }

    /// Changes the last element and returns what the body returns; nil if there is none.
    mutating func withLast<Result>(_ body: (inout Element) -> Result) -> Result? {
        messages.last?.mutate(as: Element.self, body)
    }
}
