import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

/// A listener that is registered too late ends as any other does, on every kind of channel.
struct TooLateTests {
    /// Registers something in its deinit.
    private final class Late: Sendable {
        private let atEnd: @Sendable (Late) -> Void

        init(_ atEnd: @escaping @Sendable (Late) -> Void) { self.atEnd = atEnd }

        deinit { atEnd(self) }
    }

    private let channel = Channel<Int>()
    private let state = StateChannel(0)
    private let board = Switchboard()
    private let queue = DispatchQueue(label: "too late")
    private let name: ChannelName<Int> = "late.channel"
    private let stateName: StateName<Int> = "late.state"
    private let living = Tally()

    /// A closure that keeps a witness.
    private func body() -> @Sendable (Int) -> Void {
        { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
    }

    @Test func aListenerOfWhatHasFinishedKeepsNothing() async {
        channel.finish()
        state.finish()
        let (named, namedState) = (board[name].channel, board.state(stateName, initial: 0))
        named.finish()
        namedState.finish()
        let (body, living) = (body, living)
        let tokens = [
            channel.listen(body()), channel.listen(on: queue, body()),
            channel.listen { [witness = Witness(living)] (_: Int) async in withExtendedLifetime(witness) {} },
            channel.listen(overlapping: .concurrent(2)) { [witness = Witness(living)] (_: Int) async in
                withExtendedLifetime(witness) {}
            },
            channel.posts.map(\.message).listen(body()), channel.filter { $0 > 0 }.listen(on: queue, body()),
            channel.intercept { [body = body()] post in
                body(post.message)
                return .continue
            },
            state.listen(body()),
            state.listen { [witness = Witness(living)] (_: Int) async in withExtendedLifetime(witness) {} },
            state.updates.listen(on: queue, body()),
            state.map { $0 }.listen(body()), named.listen(body()), named.posts.map(\.message).listen(body()),
            namedState.listen(body()),
        ]
        #expect(living.value == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(channel.post(1) == 0)
        for token in tokens { await token.drain() }
        for await _ in channel.messages() {}
        for await _ in state.messages() {}
        for await _ in state.map({ $0 }).messages() {}
        #expect(await channel.first() == nil)
    }

    @Test func aListenerOfAnOwnerInItsDeinitIsFreedAsAfterIt() {
        let tokens = Locked<[ListenerToken]>([])
        let requests = RequestChannel<Int, Int>()
        let (channel, state, board, queue, name, living) = (channel, state, board, queue, name, living)
        let register: @Sendable (Late) -> [ListenerToken] = { late in
            func body() -> @Sendable (Late, Int) -> Void {
                { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
            }
            func pattern() -> @Sendable (Late, Posted<any Sendable>) -> Void {
                { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
            }
            return [
                channel.listen(late, body()), channel.listen(late, on: queue, body()),
                channel.listen(late, once: true, body()), channel.posts.map(\.message).listen(late, body()),
                channel.filter { $0 > 0 }.listen(late, body()),
                channel.listen(late) { [witness = Witness(living)] (_, _: Int) async in
                    withExtendedLifetime(witness) {}
                },
                channel.intercept(late) { [body = body()] late, post in
                    body(late, post.message)
                    return .continue
                },
                state.listen(late, body()), state.updates.listen(late, on: queue, body()),
                state.map { $0 }.listen(late, body()), board[name].listen(late, body()),
                board[matching: "late.*"].listen(late, pattern()), board.posts.listen(late, pattern()),
                requests.respond(late) { [witness = Witness(living)] _, request in
                    withExtendedLifetime(witness) {}
                    return request
                },
            ]
        }
        do {
            let late = Late { late in tokens.withLock { [made = register(late)] in $0 = made } }
            withExtendedLifetime(late) {}
        }
        #expect(tokens.withLock { $0.count } == 14)
        #expect(tokens.withLock { $0.allSatisfy { !$0.isActive } })
        // Nothing posts to a pattern, and so nothing would find that its owner has gone.
        #expect(board.snapshot().patterns.isEmpty)
        // The others are freed as those of any owner that has gone: by the next post, or by whoever counts.
        #expect(channel.post(1) == 0 && board[name].post(1) == 0)
        state.set(1)
        #expect(requests.isEmpty && channel.isEmpty && state.isEmpty)
        #expect(living.value == 0)
        #expect(board.snapshot().channels.isEmpty)
    }

    @Test func aListenerOfALocalChannelThatHasFinishedKeepsNothing() {
        let channel = LocalChannel<Int>()
        channel.finish()
        let token = channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
        #expect(living.value == 0)
        withExtendedLifetime(token) {}
    }
}
