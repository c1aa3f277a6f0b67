#if Tool
import ArgumentParser
import ChannelsBridge
import Foundation

/// The time from which on stored messages are printed.
struct Since: ExpressibleByArgument {
    let start: ReplayStart

    init?(argument: String) {
        if argument == "all" {
            start = .beginning
            return
        }
        let date: Date
        if let last = argument.last, let unit = ["s": 1.0, "m": 60, "h": 3_600, "d": 86_400][last],
            let number = Double(argument.dropLast()), number >= 0, number < 1_000_000
        {
            date = Date(timeIntervalSinceNow: -number * unit)
        } else if let parsed = (try? Date(argument, strategy: .iso8601))
            ?? (try? Date(argument, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        {
            date = parsed
        } else {
            return nil
        }
        start = .time(secondsSince1970: date.timeIntervalSince1970)
    }
}
#endif
