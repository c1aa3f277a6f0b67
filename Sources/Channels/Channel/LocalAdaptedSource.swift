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
    /// Hears the messages that satisfy a condition, which is called once for each message and listener.
    @inlinable
    public func filter(_ isIncluded: @escaping (Message) -> Bool) -> LocalAdaptedSource<Self, Message> {
        let isIncluded = Unchecked(isIncluded)
        return LocalAdaptedSource(self) { $0.filtered { isIncluded.value($0) } }
    }

    /// Hears what a closure makes of each message.
    @inlinable
    public func map<Other>(_ transform: @escaping (Message) -> Other) -> LocalAdaptedSource<Self, Other> {
        compactMap { transform($0) }
    }

    /// Hears what a closure makes of each message, and skips those of which it returns nil.
    @inlinable
    public func compactMap<Other>(_ transform: @escaping (Message) -> Other?) -> LocalAdaptedSource<Self, Other> {
        let transform = Unchecked(transform)
        return LocalAdaptedSource(self) { $0.compactAdapted { transform.value($0) } }
    }

    /// Hears the first messages: each listener ends with the last of so many, at least 1, before it is called with it.
    @inlinable
    public func prefix(_ count: Int) -> LocalAdaptedSource<Self, Message> {
        requirePrefix(count)
        return LocalAdaptedSource(self) { $0.limited(to: count) }
    }

    /// Hears messages for as long as they satisfy a condition: each listener ends with the first that does not, which
    /// it does not hear.
    @inlinable
    public func prefix(while predicate: @escaping (Message) -> Bool) -> LocalAdaptedSource<Self, Message> {
        let predicate = Unchecked(predicate)
        return LocalAdaptedSource(self) { $0.limited { predicate.value($0) } }
    }
}
