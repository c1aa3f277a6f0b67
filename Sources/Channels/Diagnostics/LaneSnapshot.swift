internal import Dispatch

/// One lane: the deliveries to one actor or one dispatch queue.
public struct LaneSnapshot: Sendable {
    /// The type of the actor or the label of the queue: `MainActor`, `Kitchen`, `com.example.printer`.
    public let name: String
    /// The number of messages queued in it, by all channels, except up to 256 that its drain has taken.
    public let waitingCount: Int
    /// The longest time that a message took to arrive; nil if none is traced.
    public internal(set) var longestWait: Duration?

    /// One line: name, depth, longest wait.
    var line: String {
        "lane \(name), \(waitingCount) waiting\(longestWait.map { ", at most for \($0)" } ?? "")"
    }
}

struct LaneSnapshots {
    private var indices: [ObjectIdentifier: Int] = [:]
    private(set) var all: [LaneSnapshot] = []

    /// Returns the index of a listener's lane; nil for one that no other listener shares.
    mutating func index(of lane: Lane, _ waited: Histogram?) -> Int? {
        guard let name = lane.name else { return nil }
        let index: Int
        if let known = indices[ObjectIdentifier(lane)] {
            index = known
        } else {
            index = all.count
            indices[ObjectIdentifier(lane)] = index
            all.append(LaneSnapshot(name: name, waitingCount: lane.lock.withLock { lane.state.count }))
        }
        if let longest = waited?.longest { all[index].longestWait = max(all[index].longestWait ?? .zero, longest) }
        return index
    }
}

extension Lane {
    fileprivate var name: String? {
        switch target {
        case .mainActor: "MainActor"
        case .actor: actor.map { "\(type(of: $0))" } ?? "a deallocated actor"
        case .queue(let queue): queue.label
        case .awaiting: nil
        }
    }
}
