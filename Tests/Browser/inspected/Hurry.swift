#if Inspector
import Channels
import Foundation

/// Posts on one channel without a pause, and says how often: to measure what it costs that somebody looks.
final class Hurry: Sendable {
    /// Who hears.
    enum Ears: String {
        /// One listener with an owner, or with a token.
        case owned, token
        /// Sixteen with tokens.
        case sixteen
        /// A listener to a pattern, and nobody: posts by name.
        case pattern, nobody
        /// A listener on the main actor, by its lane.
        case lane
        /// A listener of a state.
        case state
    }

    private let post: @Sendable () -> Void
    private let tokens: [ListenerToken]

    /// - Parameter work: How long a listener takes, in nanoseconds.
    init(_ board: Switchboard, work: Int, _ ears: Ears) {
        let work = Duration.nanoseconds(work)
        let name = ChannelName<Int>("clock.hurried")
        let named = board[name]
        // As a poster holds it: what is measured is the post, not the look-up.
        let channel = named.channel
        let hear = { @Sendable (_: Int) in Self.take(work) }
        var tokens: [ListenerToken] = []
        var post = { @Sendable in _ = channel.post(1) }
        switch ears {
        case .owned:
            let owner = Owner()
            tokens.append(channel.listen(owner) { _, message in hear(message) })
            post = { _ = channel.post(1, from: owner) }
        case .token: tokens.append(channel.listen(hear))
        case .sixteen: for _ in 0..<16 { tokens.append(channel.listen(hear)) }
        case .pattern:
            tokens.append(board[matching: "clock.*"].listen { _ in Self.take(work) })
            post = { _ = board[ChannelName<Int>("clock.unheard")].post(1) }
        case .nobody: post = { _ = board[ChannelName<Int>("clock.unheard")].post(1) }
        case .lane: tokens.append(channel.listen { @MainActor _ in Self.take(work) })
        case .state:
            let state = board.state(StateName<Int>("clock.state"), initial: 0)
            tokens.append(state.listen(hear))
            post = { state.set(1) }
        }
        self.tokens = tokens
        self.post = post
    }

    private final class Owner: Sendable {}

    private static func take(_ work: Duration) {
        guard work > .zero else { return }
        let end = ContinuousClock.now + work
        while ContinuousClock.now < end {}
    }

    /// Does not return. Prints the posts so far, and the seconds of processor time that this thread has used, which
    /// other threads and programs do not change.
    func run() {
        let clock = ContinuousClock()
        var posts = 0
        var next = clock.now
        while true {
            for _ in 0..<64 { post() }
            posts += 64
            guard clock.now > next else { continue }
            print(posts, Self.usedTime)
            fflush(nil)
            next = clock.now + .milliseconds(50)
        }
    }

    /// Linux tells it of each thread; elsewhere it is that of the whole program.
    private static var usedTime: Double {
        let schedule = try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)
        guard let nanoseconds = schedule?.split(separator: " ").first.flatMap({ Double($0) }) else {
            return Double(clock()) / 1e6
        }
        return nanoseconds / 1e9
    }
}
#endif
