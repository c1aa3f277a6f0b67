#if Inspector
import Channels

/// Posts on one channel without a pause.
final class Hurry: Sendable {
    private let channel: Channel<Int>
    private let token: ListenerToken

    init(_ board: Switchboard) {
        // As a poster holds it: looking the name up would take longer than the post.
        channel = board[ChannelName<Int>("clock.hurried")].channel
        token = channel.listen { _ in }
    }

    /// Does not return.
    func run() { while true { channel.post(1) } }
}
#endif
