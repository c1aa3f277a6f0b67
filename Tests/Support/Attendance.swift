import Synchronization

/// As in the guide *Multiple processes*.
package struct Presence: Codable, Sendable {
    package var beat = 0

    package init() {}
}

/// Who is present: everybody whose beat has changed within the last three intervals.
package struct Attendance {
    package var interval = Duration.seconds(5)
    private var beats: [String: (last: Int, changed: ContinuousClock.Instant?)] = [:]

    package init() {}

    package mutating func hear(_ beat: Int, of name: String, at time: ContinuousClock.Instant = .now) {
        // The first one may have been stored long ago, by a process that has ended.
        guard let known = beats[name] else {
            beats[name] = (beat, nil)
            return
        }
        if beat != known.last { beats[name] = (beat, time) }
    }

    package func present(at time: ContinuousClock.Instant = .now) -> Set<String> {
        let isPresent = { (changed: ContinuousClock.Instant?) in
            changed.map { $0.duration(to: time) < interval * 3 } ?? false
        }
        return Set(beats.filter { isPresent($0.value.changed) }.keys)
    }
}

/// A clock that a test sets, for a reader.
package final class TestTime: Sendable {
    private let storage = Mutex(ContinuousClock.now)

    package init() {}

    package var now: ContinuousClock.Instant { storage.withLock { $0 } }

    package func advance(by duration: Duration) { storage.withLock { $0 += duration } }
}
