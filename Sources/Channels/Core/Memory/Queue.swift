/// A first-in, first-out queue of values of one type: a ``MessageQueue`` that knows what is in it.
struct Queue<Element>: ~Copyable {
    private var messages = MessageQueue(MessageLayout(Element.self))

    var isEmpty: Bool { messages.isEmpty }

    /// The oldest element.
    var first: Element? { messages.isEmpty ? nil : messages.peek().message.load(as: Element.self) }

    mutating func append(_ element: Element) {
        MessageAddress.lending(element) { messages.append(copying: $0) }
    }

    mutating func popFirst() -> Element? {
        guard !messages.isEmpty else { return nil }
        defer { messages.giveBack() }
        return MessageAddress.receiving(as: Element.self) { place in
            _ = messages.moveFirst(to: place)
            return true
        }
    }

    /// Changes the last element, if there is one. Returns what the body returns.
    mutating func withLast<Result>(_ body: (inout Element) -> Result) -> Result? {
        messages.last?.mutate(as: Element.self, body)
    }
}
