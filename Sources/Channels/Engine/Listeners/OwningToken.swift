/// The token of a listener without an owner. It cannot be the entry itself, which the list keeps alive until it is
/// cancelled.
final class OwningToken: ListenerToken, @unchecked Sendable {  // a constant
    private let listener: ListenerEntry

    /// - Precondition: The entry has no owner and no other token.
    init(_ listener: ListenerEntry) { self.listener = listener }

    override var entry: ListenerEntry { listener }

    // Avoids the retain of the property above.
    override func cancel() { listener.cancel() }

    deinit {
        if !listener.isCancelled { listener.cancel() }
    }
}
