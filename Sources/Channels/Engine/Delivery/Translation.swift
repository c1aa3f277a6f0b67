/// A message made of one of another type, in memory that is used again.
struct Translation: ~Copyable {
    private var layout: MessageLayout?
    private var place: MessageAddress?
    /// The message, if there is one.
    private(set) var message: MessageAddress?

    deinit {
        guard let layout, let place else { return }
        if let message { layout.destroy(message) }
        place.deallocate()
    }

    /// Puts a message in the place of the last.
    mutating func fill<Message>(with other: consuming Message) -> MessageAddress {
        clear()
        let place = place(for: Message.self)
        place.initialize(to: other)
        message = place
        return place
    }

    /// Releases the message. Runs user code: its deinit.
    @inline(__always)
    mutating func clear() {
        guard let message, let layout else { return }
        self.message = nil
        layout.destroy(message)
    }

    private mutating func place<Message>(for type: Message.Type) -> MessageAddress {
        if let place, let layout, layout.type == type { return place }
        place?.deallocate()
        let made = MessageLayout(type)
        let place = made.allocate()
        layout = made
        self.place = place
        return place
    }
}
