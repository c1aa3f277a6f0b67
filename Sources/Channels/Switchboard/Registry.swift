/// The channels of a switchboard by name, in shards, so that changes of different names rarely contend. Lookups take no
/// lock: see `RegistryShard+Read`.
final class Registry: Sendable {
    private static let shardCount = 16
    private let shards: [RegistryShard]
    /// The shards, uncounted, so that threads that post at the same time share no reference count. `shards` keeps them
    /// alive.
    private let references: [Unretained<RegistryShard>]

    init() {
        shards = (0..<Self.shardCount).map { _ in RegistryShard() }
        references = shards.map { Unretained($0) }
    }

    /// Lends the shard of a name.
    @inline(__always)
    func withShard<Result>(of key: NameKey, _ body: (RegistryShard) -> Result) -> Result {
        references[Int(truncatingIfNeeded: key.hash >> 32) & (Self.shardCount - 1)].borrow(body)
    }

    /// The channel of a name, if there is one.
    ///
    /// - Throws: ``ChannelError/Code/typeMismatch``, naming both types, if the name is in use for another kind or type.
    func channel(_ key: NameKey, kind: ChannelContent) throws -> AnyObject? {
        guard let (object, found) = withShard(of: key, { $0.object(key) }) else { return nil }
        guard found == kind else { throw Self.mismatch(key, found, kind) }
        return object
    }

    static func mismatch(_ key: NameKey, _ found: ChannelContent, _ wanted: ChannelContent) -> ChannelError {
        ChannelError(.typeMismatch, name: key.text, "channel \(quoted(key.text)) carries \(found), not \(wanted)")
    }

    /// Every channel that exists from the beginning of this call to its end, and perhaps others. A channel may be
    /// included twice. The array keeps them alive.
    ///
    /// No lock is held for more than ``RegistryShard/longestPortion`` names.
    var channels: [FoundChannel] {
        var found: [FoundChannel] = []
        for shard in shards { shard.find(&found) }
        return found
    }

    var mostVisitedAtOnce: Int { shards.map(\.mostVisitedAtOnce).max() ?? 0 }
}
