internal import Channels
internal import Synchronization

/// What a bridge keeps through all its runs: its identity, its counters, and who listens to its events.
///
/// `counters` is guarded by its lock; the rest is constant or atomic.
final class BridgeRecord: Sendable {
    /// The `ce-source` of the messages that the bridge sends: unique to this object.
    let source: String
    let events = Channel<TransportEvent>()
    /// Makes identifiers, and digests of those of others.
    let hash = KeyedHash()
    private let lastNumber = Atomic<UInt64>(0)
    private let counters = Locked(BridgeStatistics())

    init(name: String) {
        source = "channels/\(name)/\(KeyedHash().digest(of: 0).text)"
    }

    /// The number of the next message.
    func nextNumber() -> UInt64 {
        lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    var statistics: BridgeStatistics { counters.withLock { $0 } }

    func count(_ counter: WritableKeyPath<BridgeStatistics, Int>, _ amount: Int) {
        counters.withLock { $0[keyPath: counter] += amount }
    }
}
