extension Switchboard {
    /// Returns the channel for a protocol type. Two protocols with the same name have separate channels.
    public func observers<Observer: Sendable>(_ observer: Observer.Type) -> ProtocolChannel<Observer> {
        let channel = protocols.channel(Observer.self) { ProtocolChannel(faults: faults) }
        // For an existing channel, too: an instrument added while the channel was being entered may not have found it.
        instrument?.apply(to: channel.list)
        return channel
    }

    /// Registers an observer of a protocol, held weakly. Adding it again has no effect.
    /// - Returns: Whether it was added.
    /// - Precondition: The observer is an object.
    @discardableResult
    public func add<Observer: Sendable>(
        _ observer: Observer,
        for type: Observer.Type,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Bool {
        observers(type).add(observer, priority: priority, fileID: fileID, line: line)
    }

    /// Removes an observer of one protocol.
    /// - Returns: Whether it had been added.
    @discardableResult
    public func remove<Observer: Sendable>(_ observer: Observer, for type: Observer.Type) -> Bool {
        protocols.existing(type)?.remove(observer) ?? false
    }

    /// Whether an observer of a protocol has been added.
    /// - Precondition: The observer is an object.
    /// - Complexity: O(1).
    public func contains<Observer: Sendable>(_ observer: Observer, for type: Observer.Type) -> Bool {
        protocols.existing(type)?.contains(observer) ?? false
    }

    /// Calls a method on every observer of a protocol, on the caller's thread.
    /// - Returns: How many observers were called.
    @inlinable @discardableResult
    public func notify<Observer: Sendable>(
        _ type: Observer.Type,
        from sender: AnyObject? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Observer) -> Void
    ) -> Int {
        guard let found = find(ofProtocol: type) else { return 0 }
        // The channel found under a protocol is a channel of that protocol.
        return known(found, as: ProtocolChannel<Observer>.self)
            .notify(from: sender, echo: echo, fileID: fileID, line: line, isolation: isolation, body)
    }

    @usableFromInline
    func find(ofProtocol type: any Any.Type) -> AnyObject? {
        protocols.existing(ObjectIdentifier(type))
    }
}

protocol AnyProtocolChannel: AnyObject {
    var list: ListenerList { get }
    @discardableResult func remove(object: AnyObject) -> Bool
    func removeAllListeners()
}

extension ProtocolChannel: AnyProtocolChannel {}

/// The protocol channels of a switchboard, by the identity of their protocol. `lock` guards `channels`. The conformance
/// is unchecked because the channels are stored without their type. They are all Sendable, because their protocols are.
final class ProtocolRegistry: @unchecked Sendable {
    private let lock = SpinLock()
    private var channels: [ObjectIdentifier: any AnyProtocolChannel] = [:]

    func existing(_ type: ObjectIdentifier) -> (any AnyProtocolChannel)? {
        lock.withLock { channels[type] }
    }

    func existing<Observer: Sendable>(_ type: Observer.Type) -> ProtocolChannel<Observer>? {
        // The channel was entered, below, under the identity of the type that it is generic over.
        existing(ObjectIdentifier(type)).map { known($0, as: ProtocolChannel<Observer>.self) }
    }

    func channel<Observer: Sendable>(
        _ type: Observer.Type,
        make: () -> ProtocolChannel<Observer>
    ) -> ProtocolChannel<Observer> {
        if let existing = existing(type), !existing.list.hasClosed { return existing }
        let made = make()
        let (entered, finished) = lock.withLock { () -> (any AnyProtocolChannel, (any AnyProtocolChannel)?) in
            let former = channels[ObjectIdentifier(type)]
            if let former, !former.list.hasClosed { return (former, nil) }
            channels[ObjectIdentifier(type)] = made
            return (made, former)
        }
        // Released without the lock.
        withExtendedLifetime(finished) {}
        return known(entered, as: ProtocolChannel<Observer>.self)  // as above
    }

    var all: [any AnyProtocolChannel] { lock.withLock { Array(channels.values) } }
}
