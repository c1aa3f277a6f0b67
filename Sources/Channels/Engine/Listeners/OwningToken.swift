/// The token of a listener without an owner. Not the entry, which the list keeps until it is cancelled.
final class OwningToken: ListenerToken, @unchecked Sendable {  // a constant
    private let registration: ListenerEntry

    /// - Precondition: The entry has no owner and no other token.
    init(_ registration: ListenerEntry) { self.registration = registration }

    override var entry: ListenerEntry { registration }

    // Avoids the retain of the property above.
    override func cancel() { registration.cancel() }

    deinit {
        if !registration.isCancelled { registration.cancel() }
    }
}
