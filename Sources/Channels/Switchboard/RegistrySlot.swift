internal import Synchronization

/// One name in use. `held` and `kept` are atomic, and changed under the shard's lock, which guards `position`.
final class RegistrySlot: @unchecked Sendable {  // guards: see above
    let key: NameKey
    /// The type of the messages, if the channel carries messages.
    let messageType: ObjectIdentifier?
    let list: ListenerList
    /// The list, uncounted: posts neither retain nor release it.
    let listReference: Unretained<ListenerList>
    /// The address of the object, retained, while the switchboard keeps it alive; otherwise 0.
    private let held: Atomic<UInt>
    /// Whether a post made the channel because patterns match it, and nobody else has it: see ``RegistryShard/enter``.
    private let kept: Atomic<Bool>
    let kind: ChannelContent
    @safe @exclusivity(unchecked) private(set) weak var object: AnyObject?
    var position = 0

    init(_ key: NameKey, _ kind: ChannelContent, _ object: AnyObject, _ list: ListenerList, isKept: Bool) {
        self.key = key
        self.kind = kind
        messageType = if case .messages(let type) = kind { ObjectIdentifier(type) } else { nil }
        self.list = list
        listReference = Unretained(list)
        self.object = object
        held = Atomic(kind.isHeld || isKept ? Unretained<AnyObject>.retaining(object).address : 0)
        kept = Atomic(isKept)
    }

    deinit { heldObject?.release() }

    /// The name, or the type of message if it has none.
    var displayName: String {
        if key.type != nil, case .messages(let type) = kind { "\(type)" } else { key.text }
    }

    @inline(__always)
    var heldAddress: UInt { held.load(ordering: .sequentiallyConsistent) }

    /// The object kept alive. Used under the shard's lock, or after announcing that the shard is read.
    @inline(__always)
    var heldObject: Unretained<AnyObject>? { Unretained(address: heldAddress) }

    /// The object, if it is still alive. Used like ``heldObject``.
    var living: AnyObject? { heldObject?.object ?? object }

    /// Whether the channel is kept for posts only. Never becomes true again. Stays true in a slot that was taken out,
    /// which a reader may still have found.
    @inline(__always)
    var isKept: Bool { kept.load(ordering: .acquiring) }

    /// Whether the channel of one slot may be used for the other.
    func isLike(_ other: RegistrySlot) -> Bool { kind == other.kind && list.reentrancy == other.list.reentrancy }

    // MARK: Under the lock

    func hold(_ object: AnyObject) {
        guard held.load(ordering: .relaxed) == 0 else { return }
        held.store(Unretained<AnyObject>.retaining(object).address, ordering: .releasing)
    }

    /// Stops keeping the object alive. The caller takes over the reference; posts may still use the object.
    func letGo() -> Unretained<AnyObject>? {
        Unretained(address: held.exchange(0, ordering: .sequentiallyConsistent))
    }

    /// Turns a kept channel into an ordinary one, which from now on lives only as long as others hold it. Returns the
    /// reference as ``letGo()`` does.
    func handOut() -> Unretained<AnyObject>? {
        kept.store(false, ordering: .sequentiallyConsistent)
        return letGo()
    }
}

/// A channel of the registry, kept alive by this value.
typealias FoundChannel = (slot: RegistrySlot, channel: AnyObject)
