internal import Channels

/// What a bridge keeps through all its runs: its identity, its counters, and who listens to its events.
///
/// `counters` is guarded by its lock; the rest is constant.
final class BridgeRecord: Sendable {
    /// The `ce-source` of the messages that the bridge sends: unique to this object.
    let source: String
    let events = Channel<TransportEvent>()
    private let counters = Locked(BridgeStatistics())

    init(name: String) {
        source = "channels/\(name)/\(randomIdentifier())"
    }

    var statistics: BridgeStatistics { counters.withLock { $0 } }

    func count(_ counter: WritableKeyPath<BridgeStatistics, Int>, _ amount: Int) {
        counters.withLock { $0[keyPath: counter] += amount }
    }
}
