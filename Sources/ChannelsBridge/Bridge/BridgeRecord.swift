internal import Channels

/// The parameters of a bridge, and the state that it keeps through all its runs.
struct BridgeRecord: Sendable {
    let name: String
    let switchboard: Switchboard
    let transport: any Transport
    let configuration: BridgeConfiguration
    let onDeadLetter: DeadLetterHandler?
    /// The `ce-source` of the messages that the bridge sends: unique to this object.
    let source: String
    let events = Channel<TransportEvent>()
    let counters = Counters()

    final class Counters: Sendable {
        let values = Locked(BridgeStatistics())
    }
}
