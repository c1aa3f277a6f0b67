/// A message on the heap. Sendable because the address is constant; the message is written before the object
/// is shared, or under its owner's lock, and destroyed in `deinit`.
final class KeptMessage: @unchecked Sendable {
    let address: MessageAddress
    private let layout: MessageLayout

    convenience init(copying message: MessageAddress, _ layout: MessageLayout) {
        self.init(layout) { layout.copy(from: message, to: $0) }
    }

    convenience init<Message>(_ message: Message) {
        self.init(MessageLayout(Message.self)) { $0.initialize(to: message) }
    }

    /// Allocates memory for a message, which the body initializes.
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
