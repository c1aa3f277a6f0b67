#if Inspector
import Channels
import Foundation

/// Posts on one channel without a pause, and says how often: to measure what it costs that somebody looks.
final class Hurry: Sendable {
    private let channel: NamedChannel<Int>
    private let work: Duration

    /// - Parameter work: How long the listener takes, in nanoseconds.
    init(_ board: Switchboard, work: Int) {
        channel = board[ChannelName<Int>("clock.hurried")]
        self.work = .nanoseconds(work)
        channel.listen(self) { me, _ in me.take() }
    }

    private func take() {
        guard work > .zero else { return }
        let end = ContinuousClock.now + work
        while ContinuousClock.now < end {}
    }

    /// Does not return. Prints posts a second of processor time, which other programs do not change.
    func run() {
        let clock = ContinuousClock()
        // As a poster holds it: what is measured is the post, not the look-up.
        let channel = channel.channel
        var posts = 0
        var start = clock.now
        var used = Self.usedTime
        while true {
            for _ in 0..<64 { channel.post(1) }
            posts += 64
            guard clock.now - start > .milliseconds(100) else { continue }
            let now = Self.usedTime
            print(Int(Double(posts) / (now - used)))
            fflush(nil)
            posts = 0
            used = now
            start = clock.now
        }
    }

    /// Seconds of processor time of this program: POSIX counts it in microseconds.
    private static var usedTime: Double { Double(clock()) / 1e6 }
}
#endif
