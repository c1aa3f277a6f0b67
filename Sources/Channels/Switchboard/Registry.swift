/// The channels of a switchboard by name, in shards so that changes of different names rarely contend.
///
/// Look-ups take no lock, see `RegistryShard+Read`.
final class Registry: Sendable {
    private static let shardCount = 16
    private let shards: [RegistryShard]
    /// The shards, uncounted: `shards` keeps them, and threads that post at the same time share no count.
    private let references: [Unretained<RegistryShard>]

    init() {
        shards = (0..<Self.shardCount).map { _ in RegistryShard() }
        references = shards.map { Unretained($0) }
    }

    @inline(__always)
    private func withShard<Result>(of key: NameKey, _ body: (RegistryShard) -> Result) -> Result {
        references[Int(truncatingIfNeeded: key.hash >> 32) & (Self.shardCount - 1)].borrow(body)
    }

    /// Posts on the channel that carries messages of a type; nil if there is none, or one of another kind.
    @inline(__always)
    func post(_ message: MessageAddress, _ post: Post, to key: NameKey, ofMessages type: any Any.Type) -> Int? {
        withShard(of: key) { $0.post(message, post, to: key, ofMessages: ObjectIdentifier(type)) }
    }

    /// The channel that carries messages of a type; nil if there is none, or one of another kind.
    @inline(__always)
    func channel(_ key: NameKey, ofMessages type: any Any.Type) -> AnyObject? {
        withShard(of: key) { $0.channel(key, ofMessages: ObjectIdentifier(type)) }
    }

    /// The channel of a name, if there is one.
    ///
    /// - Throws: ``ChannelError/Code/typeMismatch``, naming both.
    @inline(never)
    func channel(_ key: NameKey, kind: ChannelContent) throws -> AnyObject? {
        guard let (object, found) = withShard(of: key, { $0.object(key) }) else { return nil }
        guard found == kind else { throw mismatch(key, found, kind) }
        return object
    }

    /// The listeners of a name, whatever it stands for.
    func list(_ key: NameKey) -> ListenerList? { withShard(of: key) { $0.list(key) } }

    /// Enters a channel, unless the name has one by now; returns the one entered, of whatever kind.
    ///
    /// The caller, once it holds no lock, hands what was removed for it to ``release(_:_:)``.
    func enter(_ slot: RegistrySlot, _ object: AnyObject) -> RegistryShard.Entered {
        withShard(of: slot.key) { $0.enter(slot, object) }
    }

    /// Releases what entering a channel removed. May run user code.
    func release(_ removed: RegistryShard.Removed, _ key: NameKey) { withShard(of: key) { $0.release(removed) } }

    /// Retains the channel while it has listeners.
    func listeningChanged(_ key: NameKey, _ object: AnyObject, _ list: ListenerList) {
        withShard(of: key) { $0.listeningChanged(key, object, list) }
    }

    /// Frees a name.
    ///
    /// - Returns: The list of the channel that had it, if there was one.
    func remove(_ key: NameKey) -> ListenerList? { withShard(of: key) { $0.remove(key) } }

    /// Frees the name of a deallocated channel.
    func removeGone(_ key: NameKey, _ list: ListenerList) { withShard(of: key) { $0.removeGone(key, list) } }

    /// Removes listeners whose owner has gone from a few channels, which are released if they have no other.
    func sweepSome() {
        for list in shards[Int.random(in: 0..<Self.shardCount)].someLists() { list.sweepSome() }
    }

    /// Visits every channel that is there from the beginning of this call to its end, and perhaps others; one
    /// may be visited twice.
    ///
    /// The body runs without a lock, and the channel is alive meanwhile. No lock is held for more than
    /// ``RegistryShard/longestPortion`` names.
    ///
    /// - Parameter isWanted: Says of which ones, under the lock: it must be quick, and call nobody else's code.
    func forEachChannel(where isWanted: (RegistrySlot) -> Bool = { _ in true }, _ body: (FoundChannel) -> Void) {
        for shard in shards { shard.forEachChannel(where: isWanted, body) }
    }

    /// The most names that have been visited under one section of a lock: for tests.
    var mostVisitedAtOnce: Int { shards.map(\.mostVisitedAtOnce).max() ?? 0 }

    func mismatch(_ key: NameKey, _ found: ChannelContent, _ wanted: ChannelContent) -> ChannelError {
        ChannelError(.typeMismatch, name: key.text, "channel \(quoted(key.text)) carries \(found), not \(wanted)")
    }
}
