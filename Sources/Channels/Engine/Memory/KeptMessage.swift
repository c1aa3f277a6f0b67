/// A message on the heap.
///
/// Sendable: the address is constant, and the message is written before the object is shared, or under its
/// owner's lock, and destroyed by its deinit.
final class KeptMessage: @unchecked Sendable {
    let address: MessageAddress
    private let layout: MessageLayout

    /// Copies a message.
    convenience init(copying message: MessageAddress, _ layout: MessageLayout) {
        self.init(layout) { layout.copy(from: message, to: $0) }
    }

    /// Keeps a message whose type is known.
    convenience init<Message>(_ message: Message) {
        self.init(MessageLayout(Message.self)) { $0.initialize(to: message) }
    }

    /// Allocates memory for a message, which the body initialises.
    init(_ layout: MessageLayout, _ fill: (MessageAddress) -> Void) {
        address = layout.allocate()
        self.layout = layout
        fill(address)
    }

    deinit {
        layout.destroy(address)
        address.deallocate()
    }
}

/// The bytes of an existential that holds an object, without a reference to the object.
final class ExistentialBytes: Sendable {
    let address: MessageAddress

    init<Existential>(_ existential: Existential) { address = .allocateBytes(of: existential) }

    deinit {
        // The bytes own nothing, so there is nothing to destroy.
        address.deallocate()
    }
}
