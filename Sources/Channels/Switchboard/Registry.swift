internal import Synchronization

/// What a name stands for, with the types.
enum ChannelContent {
    case messages(any Any.Type)
    case state(any Any.Type)
    case requests(any Any.Type, any Any.Type)

    static func == (left: ChannelContent, right: ChannelContent) -> Bool {
        switch (left, right) {
        case (.messages(let left), .messages(let right)), (.state(let left), .state(let right)): left == right
        case (.requests(let left, let leftResponse), .requests(let right, let rightResponse)):
            left == right && leftResponse == rightResponse
        default: false
        }
    }

    /// Whether the switchboard keeps it until it is removed.
    var isHeld: Bool { if case .messages = self { false } else { true } }
}

extension ChannelContent: CustomStringConvertible {
    var description: String {
        switch self {
        case .messages(let type): "messages of type \(type)"
        case .state(let type): "a state of type \(type)"
        case .requests(let request, let response): "requests of type \(request) answered by \(response)"
        }
    }
}

/// The channels of a switchboard by name, in shards so that lookups of different names rarely contend.
final class Registry: Sendable {
    private static let shardCount = 16
    private let shards = (0..<shardCount).map { _ in RegistryShard() }

    private func shard(_ key: NameKey) -> RegistryShard {
        shards[Int(truncatingIfNeeded: key.hash >> 32) & (Self.shardCount - 1)]
    }

    /// Retains a channel that carries messages of a type and has listeners; nil if there is none.
    @inline(__always)
    func keeper(_ key: NameKey, ofMessages type: any Any.Type) -> ChannelKeeper? {
        shard(key).keeper(key, ofMessages: ObjectIdentifier(type))
    }

    /// The channel that carries messages of a type; nil if there is none, or one of another kind.
    @inline(__always)
    func channel(_ key: NameKey, ofMessages type: any Any.Type) -> AnyObject? {
        shard(key).channel(key, ofMessages: ObjectIdentifier(type))
    }

    /// The channel of a name, if there is one.
    ///
    /// - Throws: ``ChannelError/Code/typeMismatch``, naming both.
    func channel<Object: AnyObject>(_ key: NameKey, kind: ChannelContent, as type: Object.Type) throws -> Object? {
        guard let (object, found) = shard(key).object(key) else { return nil }
        guard found == kind else { throw mismatch(key, found, kind) }
        // The kind records the types of which the object is generic.
        return known(object, as: Object.self)
    }

    /// The listeners of a name, whatever it stands for.
    func list(_ key: NameKey) -> ListenerList? { shard(key).list(key) }

    /// Enters a channel, unless the name has one by now; returns the one entered, of whatever kind.
    func enter(
        _ key: NameKey,
        kind: ChannelContent,
        _ object: any AnyObject & Sendable,
        _ list: ListenerList
    ) -> (AnyObject, ChannelContent) {
        shard(key).enter(RegistrySlot(key, kind, object, list), object)
    }

    /// Retains the channel while it has listeners.
    func listeningChanged(_ key: NameKey, _ object: AnyObject, _ list: ListenerList) {
        shard(key).listeningChanged(key, object, list)
    }

    /// Frees a name. False if it was free.
    func remove(_ key: NameKey) -> Bool { shard(key).remove(key) }

    /// Frees the name of a deallocated channel.
    func removeGone(_ key: NameKey, _ list: ListenerList) { shard(key).removeGone(key, list) }

    /// Removes listeners whose owner has gone from a few channels, which are released if they have no other.
    func sweepSome() {
        for list in shards[Int.random(in: 0..<Self.shardCount)].someLists() { list.sweepSome() }
    }

    /// Every channel, sorted by name.
    var channels: [(name: String, kind: ChannelContent, list: ListenerList, object: AnyObject)] {
        shards.flatMap { $0.channels }
    }

    /// Visits every channel there is, shard by shard, without a lock.
    func forEachChannel(_ body: (ListenerList) -> Void) {
        for shard in shards {
            for channel in shard.channels { body(channel.list) }
        }
    }

    func mismatch(_ key: NameKey, _ found: ChannelContent, _ wanted: ChannelContent) -> ChannelError {
        ChannelError(.typeMismatch, name: key.text, "channel \(quoted(key.text)) carries \(found), not \(wanted)")
    }
}

/// Keeps a channel alive. A channel has weak references, which makes retaining it slow; this object has none.
@usableFromInline
final class ChannelKeeper: @unchecked Sendable {  // constant, and every channel is Sendable
    let channel: AnyObject
    @usableFromInline let list: ListenerList

    init(_ channel: AnyObject, _ list: ListenerList) {
        self.channel = channel
        self.list = list
    }
}

/// One name in use.
///
/// `held` and `position` are guarded by the shard's lock; the rest is constant.
final class RegistrySlot: @unchecked Sendable {
    let key: NameKey
    let kind: ChannelContent
    /// The type of the messages, if it carries messages.
    let messageType: ObjectIdentifier?
    let list: ListenerList
    @safe @exclusivity(unchecked) private(set) weak var object: AnyObject?
    /// Keeps the object alive on behalf of the switchboard.
    @safe @exclusivity(unchecked) var held: ChannelKeeper?
    @safe @exclusivity(unchecked) var position = 0

    init(_ key: NameKey, _ kind: ChannelContent, _ object: AnyObject, _ list: ListenerList) {
        self.key = key
        self.kind = kind
        messageType = if case .messages(let type) = kind { ObjectIdentifier(type) } else { nil }
        self.list = list
        self.object = object
        held = kind.isHeld ? ChannelKeeper(object, list) : nil
    }

    /// The name, or the type of message if it has none.
    var displayName: String {
        if key.type != nil, case .messages(let type) = kind { "\(type)" } else { key.text }
    }

    /// The object, if it is still alive.
    var living: AnyObject? { held?.channel ?? object }
}

/// One shard of the names.
///
/// `table`, `order` and `hand` are guarded by `lock`. Objects are released outside it: their deinit is user
/// code.
final class RegistryShard: @unchecked Sendable {  // guards: see above
    private let lock = SpinLock()
    @safe @exclusivity(unchecked) private var table = NameTable()
    @safe @exclusivity(unchecked) private var order: [RegistrySlot] = []
    @safe @exclusivity(unchecked) private var hand = 0

    @inline(__always)
    func keeper(_ key: NameKey, ofMessages type: ObjectIdentifier) -> ChannelKeeper? {
        lock.withLock {
            table.find(key)?.borrow { $0.messageType == type ? $0.held : nil }
        }
    }

    @inline(__always)
    func channel(_ key: NameKey, ofMessages type: ObjectIdentifier) -> AnyObject? {
        lock.withLock {
            table.find(key)?.borrow { $0.messageType == type ? $0.living : nil }
        }
    }

    func object(_ key: NameKey) -> (AnyObject, ChannelContent)? {
        lock.withLock {
            table.find(key)?.borrow { slot in
                slot.living.map { ($0, slot.kind) }
            }
        }
    }

    func list(_ key: NameKey) -> ListenerList? {
        lock.withLock { table.find(key)?.borrow { $0.list } }
    }

    func enter(_ slot: RegistrySlot, _ object: AnyObject) -> (AnyObject, ChannelContent) {
        // The object replaced is already gone; its slot, too, is released without the lock.
        var replaced: RegistrySlot?
        defer { withExtendedLifetime(replaced) {} }
        return lock.withLock {
            if let found = self.slot(of: slot.key) {
                if let object = found.living { return (object, found.kind) }
                replaced = found
                takeOut(found)
            }
            table.insert(slot)
            slot.position = order.count
            order.append(slot)
            return (object, slot.kind)
        }
    }

    func listeningChanged(_ key: NameKey, _ object: AnyObject, _ list: ListenerList) {
        var released: ChannelKeeper?
        lock.withLock {
            guard let slot = self.slot(of: key), slot.list === list else { return }
            // Read under the lock: of two threads, the later one reads the later count.
            if list.hasOwnListeners {
                if slot.held == nil { slot.held = ChannelKeeper(object, list) }
            } else {
                released = slot.held
                slot.held = nil
            }
        }
        list.didUnlock()
        withExtendedLifetime(released) {}
    }

    func remove(_ key: NameKey) -> Bool {
        var released: (slot: RegistrySlot, object: AnyObject?)?
        lock.withLock {
            guard let slot = self.slot(of: key) else { return }
            released = (slot, slot.living)
            takeOut(slot)
        }
        return released?.object != nil
    }

    func removeGone(_ key: NameKey, _ list: ListenerList) {
        var released: RegistrySlot?
        lock.withLock {
            guard let slot = self.slot(of: key), slot.list === list else { return }
            released = slot
            takeOut(slot)
        }
        withExtendedLifetime(released) {}
    }

    func someLists() -> [ListenerList] {
        lock.withLock {
            guard !order.isEmpty else { return [] }
            return (0..<min(4, order.count)).map { _ in
                hand = hand + 1 < order.count ? hand + 1 : 0
                return order[hand].list
            }
        }
    }

    var channels: [(name: String, kind: ChannelContent, list: ListenerList, object: AnyObject)] {
        lock.withLock {
            order.compactMap { slot in
                slot.living.map { (slot.displayName, slot.kind, slot.list, $0) }
            }
        }
    }

    // MARK: Under the lock

    private func slot(of key: NameKey) -> RegistrySlot? {
        // The table holds it, under the lock.
        table.find(key)?.object
    }

    /// The caller retains the slot.
    private func takeOut(_ slot: RegistrySlot) {
        table.remove(slot)
        let last = order.removeLast()
        guard last !== slot else { return }
        order[slot.position] = last
        last.position = slot.position
    }
}
