/// A source of one isolation domain that passes on some messages of another, or converts them. See
/// ``AdaptedSource``.
@frozen
public struct LocalAdaptedSource<Source: LocalListenable, Message>: LocalListenable {
    @usableFromInline let source: Source
    /// Called for each listener.
    @usableFromInline let adapt: (consuming Listener<Message>) -> Listener<Source.Message>

    @inlinable
    init(_ source: Source, _ adapt: @escaping (consuming Listener<Message>) -> Listener<Source.Message>) {
        self.source = source
        self.adapt = adapt
    }

    /// Registers a listener with the source.
    @inlinable
    public func register(_ listener: consuming LocalListener<Message>) -> LocalListenerToken {
        source.register(LocalListener(adapt(listener.listener)))
    }
}

@available(*, unavailable)
extension LocalAdaptedSource: Sendable {}

extension LocalListenable {
    /// Passes on the messages that satisfy a condition, which is called once for each message and listener.
    @inlinable
    public func filter(_ isIncluded: @escaping (Message) -> Bool) -> LocalAdaptedSource<Self, Message> {
        let isIncluded = Unchecked(isIncluded)
        return LocalAdaptedSource(self) { $0.filtered { isIncluded.value($0) } }
    }

    /// Transforms each message.
    @inlinable
    public func map<Other>(_ transform: @escaping (Message) -> Other) -> LocalAdaptedSource<Self, Other> {
        compactMap { transform($0) }
    }

    /// Transforms each message, and skips nil results.
    @inlinable
    public func compactMap<Other>(_ transform: @escaping (Message) -> Other?) -> LocalAdaptedSource<Self, Other> {
        let transform = Unchecked(transform)
        return LocalAdaptedSource(self) { $0.compactAdapted { transform.value($0) } }
    }

    /// Limits each listener to its first `count` messages, at least 1; it ends before it is called with the last one.
    @inlinable
    public func prefix(_ count: Int) -> LocalAdaptedSource<Self, Message> {
        requirePrefix(count)
        return LocalAdaptedSource(self) { $0.limited(to: count) }
    }

    /// Passes on messages for as long as they satisfy a condition: each listener ends with the first that does not,
    /// which it does not receive.
    @inlinable
    public func prefix(while predicate: @escaping (Message) -> Bool) -> LocalAdaptedSource<Self, Message> {
        let predicate = Unchecked(predicate)
        return LocalAdaptedSource(self) { $0.limited { predicate.value($0) } }
    }
}
