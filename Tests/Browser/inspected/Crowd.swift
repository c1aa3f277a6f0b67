#if Inspector
import Channels

/// As many channels as one likes, of which some are used.
final class Crowd: Sendable {
    private let channels: [NamedChannel<Int>]

    init(_ board: Switchboard, count: Int) {
        channels = (0..<count).map { number in
            let name = "crowd.\(["north", "east", "south", "west"][number % 4]).person\(number)"
            // The names are valid: letters, digits and full stops.
            return try! board[ChannelName<Int>(validating: name)]
        }
        for (number, channel) in channels.enumerated() {
            for _ in 0...(number % 3) { channel.listen(self) { _, _ in } }
        }
    }

    func chat() async throws {
        var turn = 0
        while true {
            turn += 1
            for number in stride(from: turn % 7, to: channels.count, by: 7) {
                for _ in 0...(number % 5) { channels[number].post(turn) }
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
#endif
