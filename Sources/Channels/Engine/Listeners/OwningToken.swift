/// The token of a listener without an owner: the listener lives as long as this.
///
/// An object apart from the entry, because the chain of the list keeps the entry until it has been cancelled.
final class OwningToken: ListenerToken, @unchecked Sendable {  // a constant
    private let registration: ListenerEntry

    /// - Precondition: The entry has no owner, and no other token.
    init(_ registration: ListenerEntry) { self.registration = registration }

    override var entry: ListenerEntry { registration }

    // Without the retain of the property above.
    override func cancel() { registration.cancel() }

    deinit {
        // A cancelled one has nothing left to do.
        if !registration.isCancelled { registration.cancel() }
    }
}
