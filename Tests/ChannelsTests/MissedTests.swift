import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

/// Messages posted while a listener is paused: missed and counted.
struct MissedTests {
    @Test func listenersOfEveryKindCountWhatTheyMissOverAllPauses() async {
        let board = Switchboard()
        let name: ChannelName<Int> = "missed"
        let (owner, clerk) = (Owner(), Clerk())
        let heard = Recorder<Int>()
        let tokens = [
            board[name].listen { heard.record($0) },
            board[name].listen(owner) { _, message in heard.record(message) },
            board[name].listen { (message: Int) throws in heard.record(message) },
            board[name].listen { (message: Int) async in heard.record(message) },
            board[name].listen(on: .global(), buffering: .newest(9)) { heard.record($0) },
            board[name].listen { @MainActor message in heard.record(message) },
            board[name].listen(clerk) { (_: isolated Clerk, message) in heard.record(message) },
            board[name].posts.listen { heard.record($0.message) },
            board[matching: "missed"].listen { heard.record($0.message as? Int ?? 0) },
        ]
        for round in 1...3 {
            for token in tokens {
                token.pause()
                token.pause()
            }
            for _ in 0..<4 { #expect(board[name].post(-1) == 0) }
            for token in tokens { token.resume() }
            #expect(tokens.map(\.missedCount) == tokens.map { _ in 4 * round })
            #expect(await board[name].postAndWait(round).completedCount == tokens.count)
        }
        #expect(heard.all.sorted() == (1...3).flatMap { round in tokens.map { _ in round } })
        withExtendedLifetime((owner, clerk)) {}
    }

    @Test func aPausedInterceptorMissesTheMessageWhichGoesOnAsItWas() {
        let channel = Channel<Int>()
        let heard = Recorder(of: channel)
        let token = channel.intercept { .replace($0.message * 10) }
        token.pause()
        for message in 1...2 { #expect(channel.post(message) == 1) }
        token.resume()
        channel.post(3)
        #expect(heard.all == [1, 2, 30])
        #expect(token.missedCount == 2)
    }

    @Test func whatAPausedListenerWouldNotHaveHeardIsNotMissed() {
        let channel = Channel<Int>()
        let owner = Owner()
        let (own, once) = (channel.listen(owner) { _, _ in }, channel.listen(once: true) { _ in })
        own.pause()
        channel.post(1, from: owner, echo: false)
        let stopping = channel.intercept { $0.message == 2 ? .stop : .continue }
        channel.post(2)
        #expect(own.missedCount == 0)
        channel.post(3)
        own.cancel()
        channel.post(4)
        #expect(own.missedCount == 1 && once.missedCount == 0)
        withExtendedLifetime((owner, stopping)) {}
    }

    /// posted = delivered + waiting + dropped + discarded + missed, while threads post and another pauses.
    @Test(arguments: [BufferingPolicy.unbounded, .oldest(2), .newest(2)])
    func theAccountsAddUpWhenThreadsPostAndOnePausesAndResumes(policy: BufferingPolicy) async {
        for _ in 0..<20 {
            let (board, channel) = (Switchboard(diagnostics: .counts), Channel<Int>(onFault: { _ in }))
            board.watch(channel, as: "channel")
            let clerk = Clerk()
            let tokens = [
                channel.listen { _ in },
                channel.listen(clerk, buffering: policy) { (_: isolated Clerk, _) in },
                channel.listen(buffering: policy) { (_: Int) async in },
            ]
            let reached = Tally()
            await onThreads(3) { index in
                for message in 0..<100 {
                    guard index == 2 else {
                        reached.add(channel.post(message))
                        continue
                    }
                    for token in tokens { if message % 2 == 0 { token.pause() } else { token.resume() } }
                }
            }
            tokens[1].cancel()
            await tokens[2].cancelAndWait()
            for token in tokens {
                let counts = [token.deliveredCount, token.waitingCount, token.droppedCount, token.discardedCount]
                #expect(counts.reduce(token.missedCount, +) == 200, "\(counts) and \(token.missedCount) missed")
            }
            #expect(reached.value + tokens.map(\.missedCount).reduce(0, +) == 600)
        }
    }
}
