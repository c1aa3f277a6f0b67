internal import Synchronization

// Reading a shard without its lock: how names are looked up, and how one posts by name.
//
// A thread announces that it reads the shard: by a sequentially consistent exchange it writes the shard's
// address to a hazard slot of its own, which it clears when it has finished. A post finds the channel and
// then replaces the shard's address by the channel's. So a long post holds back its own channel only; it
// counts no reference and writes to no word that other threads use.
//
// Nothing is freed under a reader:
// 1. What is removed (a channel no longer kept, the slot of a name, a table) is first made unreachable, by
//    sequentially consistent stores under the lock. A reader whose announcement comes later in that order
//    does not meet it. `release` frees it after that, as a list frees its entries (`HazardDomain`).
// 2. A use that is then seen is waited for, until the slot names neither the shard nor an object retired with
//    this one, or a later use. A slot goes from the shard to the channel by a plain store, and never back
//    within a use: whoever looks sees one of the two, and waits for either.
//
// The switchboard keeps a channel during the search; one that somebody holds and that has no listeners of its own is
// retained for the post: patterns may match it. If the channel is removed meanwhile, another takes its name,
// or its last listener ends, the post counts as begun before. A post that begins after a change has returned
// announces itself later, and finds what the change left.
extension RegistryShard {
    /// Lends the slot of a name in use, with the shard announced. The body runs no user code.
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

    /// The channel to post on, which may be kept: nobody else may be handed it.
    func channelEvenIfKept(_ key: NameKey, ofMessages type: ObjectIdentifier) -> AnyObject? {
        read(key) { $0.messageType == type ? $0.living : nil }
    }

    func object(_ key: NameKey) -> (AnyObject, ChannelContent)? {
        read(key) { slot in slot.isKept ? nil : slot.living.map { ($0, slot.kind) } }
    }

    /// Whether a name still has the channel that it had.
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
        // The channel is kept until the use ends, and keeps its list.
        let reached = found.list.borrow { $0.post(message, post) }
        withdrawUse(by: thread)
        return reached
    }

    /// Posts on a channel that the registry does not keep: it lives until the post has ended.
    private func postRetaining(
        _ message: MessageAddress,
        _ post: PostOptions,
        on channel: AnyObject,
        _ list: Unretained<ListenerList>
    ) -> Int {
        defer { withExtendedLifetime(channel) {} }
        return list.borrow { $0.post(message, post) }
    }

    /// Releases what was removed, at once or after its last reader. Called without a lock; may run user code.
    func release(_ removed: Removed) {
        guard !removed.isEmpty else { return }
        for object in removed { freeUnlessUsed(object) }
        collectAfterUnlocking()
    }
}
