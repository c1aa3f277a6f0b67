internal import Dispatch

/// One lane: the deliveries to one actor or one dispatch queue.
public struct LaneSnapshot: Sendable, CustomStringConvertible {
    /// The type of the actor or the label of the queue: `MainActor`, `Kitchen`, `com.example.printer`.
    public let name: String
    /// The messages of all channels that wait in it, without up to 256 that its drain has already taken.
    public let waiting: Int
    /// The longest time that a message took to arrive, in nanoseconds; nil if none is traced.
    public internal(set) var longestWaitNanoseconds: Int64?

    /// The longest time that a message took to arrive; nil if none is traced.
    public var longestWait: Duration? { longestWaitNanoseconds.map { .nanoseconds($0) } }

    /// One line: name, depth, longest wait.
    public var description: String {
        "lane \(name), \(waiting) waiting\(longestWait.map { ", at most for \($0)" } ?? "")"
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
            all.append(LaneSnapshot(name: name, waiting: lane.lock.withLock { lane.state.count }))
        }
        if let longest = waited?.longestNanoseconds {
            all[index].longestWaitNanoseconds = max(all[index].longestWaitNanoseconds ?? 0, longest)
        }
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
