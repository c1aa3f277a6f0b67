internal import Dispatch

/// One lane: the deliveries to one actor or one dispatch queue.
public struct LaneSnapshot: Sendable, CustomStringConvertible {
    /// The actor, by its type, or the label of the queue: `MainActor`, `Kitchen`, `com.example.printer`.
    public let name: String
    /// Messages that wait in it, of all channels. What its drain has taken, 256 messages at most, is
    /// not counted.
    public let waiting: Int
    /// The longest time that a message took to reach a listener in this lane, of the channels in the snapshot, in
    /// nanoseconds; nil where none is traced.
    public internal(set) var longestWaitNanoseconds: Int?

    /// The longest time that a message took to reach a listener.
    public var longestWait: Duration? { longestWaitNanoseconds.map { .nanoseconds($0) } }

    /// One line: name, depth, longest wait.
    public var description: String {
        "lane \(name), \(waiting) waiting\(longestWait.map { ", at most for \($0)" } ?? "")"
    }
}

/// The lanes met while a snapshot is taken.
struct LaneSnapshots {
    private var indices: [ObjectIdentifier: Int] = [:]
    private(set) var all: [LaneSnapshot] = []

    /// The place of the lane of a listener; nil for one that no other listener shares.
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
        case .actor: actor.map { "\(type(of: $0))" } ?? "an actor that has gone"
        case .queue(let queue): queue.label
        case .awaiting: nil
        }
    }
}
