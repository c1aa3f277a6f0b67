internal import Channels

/// Validates the limits and times of configurations.
package enum Settings {
    /// Traps if a limit or a time is not positive, with a message that names it.
    package static func check(_ type: String, limits: [(String, Int?)], times: [(String, Duration?)]) {
        for case (let name, let time?) in times {
            require(time > .zero, "\(type).\(name) is \(time); it must be positive: write a time above .zero")
        }
        for case (let name, let limit?) in limits {
            require(limit > 0, "\(type).\(name) is \(limit); it must be positive: write 1 or more")
        }
    }
}
