internal import Channels

/// One lane: the deliveries to one actor or one dispatch queue.
public struct LaneSnapshot: Sendable {
    /// The type of the actor or the label of the queue: `MainActor`, `Kitchen`, `com.example.printer`.
    public let name: String
    /// The number of messages queued in it, by all channels, not counting up to 256 that have already been
    /// taken out for delivery.
    public let waitingCount: Int
    /// The longest time that a message spent in the lane; nil if nothing was traced.
    public internal(set) var longestWait: Duration?
}

struct LaneSnapshots {
    private var indices: [ObjectIdentifier: Int] = [:]
    private(set) var all: [LaneSnapshot] = []

    /// Returns the index of a listener's lane; nil for one that no other listener shares.
    mutating func index(of listener: ListenerEntry, _ waited: ListenerSnapshot.Histogram?) -> Int? {
        guard let lane = listener.lane else { return nil }
        let index: Int
        if let known = indices[lane.id] {
            index = known
        } else {
            index = all.count
            indices[lane.id] = index
            all.append(LaneSnapshot(name: lane.name, waitingCount: lane.waitingCount))
        }
        if let longest = waited?.longest { all[index].longestWait = max(all[index].longestWait ?? .zero, longest) }
        return index
    }
}
