internal import Synchronization

// Reading a shard without its lock: looking up names, and posting by name.
//
// A thread announces that it reads the shard: with a sequentially consistent exchange, it writes the shard's address to
// one of its own hazard slots, which it clears when it has finished. A post finds the channel, and then replaces the
// shard's address with the channel's. So a long post holds back only its own channel. It counts no reference, and
// writes to no word that other threads use.
//
// Nothing is freed under a reader:
// 1. Whatever is removed (a channel no longer kept, the slot of a name, a table) is first made unreachable, with
//    sequentially consistent stores under the lock. A reader whose announcement comes later in that order cannot find
//    it. After that, `release` frees it, as a list frees its entries (`HazardDomain`).
// 2. If a use is seen then, the object waits until the hazard slot contains neither the shard nor an object retired
//    with this one, or contains a later use. Within a use, a slot changes from the shard to the channel with a
//    releasing store, and never back. So a thread that looks sees one of the two, and waits for either.
//
// A channel that the switchboard holds is not retained for a post. A channel that only someone else holds, because it
// has no listeners of its own, is retained for the post, because patterns may match it. If the channel is removed
// during a post, if another channel takes its name, or if its last listener ends, the post counts as having begun
// before. A post that begins after a change has returned is announced later, and finds the result of the change.
extension RegistryShard {
    /// Lends the slot of a name in use, while the shard is announced. The body runs no user code.
    @inline(__always)
    private func read<Result>(_ key: NameKey, _ body: (RegistrySlot) -> Result?) -> Result? {
        let thread = ThreadReference.current
        announceUse(by: thread)
        defer { withdrawUse(by: thread) }
        return table?.borrow { $0.find(key) }?.borrow(body)
    }

    @inline(__always)
    func channel(_ key: NameKey, ofMessages type: ObjectIdentifier) -> AnyObject? {
        read(key) { $0.messageType == type && !$0.isKept ? $0.living : nil }
    }

    /// The channel to post on, which may be a kept one. It must not be passed to anyone else.
    func channelEvenIfKept(_ key: NameKey, ofMessages type: ObjectIdentifier) -> AnyObject? {
        read(key) { $0.messageType == type ? $0.living : nil }
    }

    func object(_ key: NameKey) -> (AnyObject, ChannelContent)? {
        read(key) { slot in slot.isKept ? nil : slot.living.map { ($0, slot.kind) } }
    }

    /// Whether a name still has the channel of a slot.
    func holds(_ slot: RegistrySlot) -> Bool { read(slot.key) { $0 === slot } ?? false }

    func list(_ key: NameKey) -> ListenerList? { read(key) { $0.isKept ? nil : $0.list } }

    @inline(__always)
    func post(_ message: MessageAddress, _ post: PostOptions, to key: NameKey, ofMessages type: ObjectIdentifier)
        -> Int?
    {
        let thread = ThreadReference.current
        let use = announceUse(by: thread)
        guard let slot = table?.borrow({ $0.find(key) }), slot.borrow({ $0.messageType }) == type else {
            withdrawUse(by: thread)
            return nil
        }
        let found = slot.borrow { (channel: $0.heldAddress, list: $0.listReference) }
        guard found.channel != 0 else {
            let living = slot.borrow { $0.living }
            withdrawUse(by: thread)
            return living.map { postRetaining(message, post, on: $0, found.list) }
        }
        use.pointee.address.store(found.channel, ordering: .releasing)
        // The channel is not freed until the use ends, and it keeps its list.
        let reached = found.list.borrow { $0.post(message, post) }
        withdrawUse(by: thread)
        return reached
    }

    /// Posts on a channel that the registry does not keep. The channel is retained until the post has ended.
    private func postRetaining(
        _ message: MessageAddress,
        _ post: PostOptions,
        on channel: AnyObject,
        _ list: Unretained<ListenerList>
    ) -> Int {
        defer { withExtendedLifetime(channel) {} }
        return list.borrow { $0.post(message, post) }
    }

    /// Releases what was removed, now or after its last reader has finished. Called without a lock. May run user code.
    func release(_ removed: Removed) {
        guard !removed.isEmpty else { return }
        for object in removed { freeUnlessUsed(object) }
        collectAfterUnlocking()
    }
}
