import Channels
import ChannelsTesting
import Dispatch
import Testing

struct TokenFormTests {
    let channel = Channel<Int>(onFault: { _ in })
    let owner = FormListener()

    @Test func cancelPauseResumeAndIsActive() async {
        // Of an owned listener, the token may be ignored.
        channel.listen(owner, once: true) { me, number in me.hear("\(number)") }
        channel.intercept(owner) { _, _ in .continue }
        #expect(channel.post(0) == 1)
        let token = channel.listen(owner) { me, number in me.hear("\(number)") }
        #expect(token.isActive && !token.isPaused)
        token.pause()
        #expect(token.isActive && token.isPaused)
        #expect(channel.post(1) == 0)
        #expect(channel.listenerCount == 1)
        token.resume()
        #expect(channel.post(2) == 1)
        #expect("\(token)".contains(#fileID) && "\(token)".contains("(active)"))
        await Task { @MainActor in token.cancel() }.value
        await token.cancelAndWait()
        token.cancel()
        #expect(!token.isActive)
        #expect(channel.post(3) == 0)
        #expect(owner.heard.all == ["0", "2"])
    }

    @Test func tokensOfLocalListenersAndInstrumentsAreStored() {
        let local = LocalChannel<Int>()
        var locals: [LocalListenerToken] = []
        var heard = 0
        local.listen { heard += $0 }.store(in: &locals)
        local.listen { heard += $0 }.store(in: &locals)
        #expect(local.post(1) == 2 && heard == 2)
        locals = []
        #expect(local.post(1) == 0)

        struct Log: ChannelInstrument {
            let faults: Recorder<Fault>
            func report(_ fault: Fault) { faults.record(fault) }
        }
        let (board, faults) = (Switchboard(onFault: { _ in }), Recorder<Fault>())
        var instruments: [InstrumentToken] = []
        board.addInstrument(Log(faults: faults)).store(in: &instruments)
        let token = board[Int.self].listen { (_: Int) throws in throw Trouble() }
        board[Int.self].post(1)
        #expect(faults.count == 1)
        instruments = []
        board[Int.self].post(2)
        #expect(faults.count == 1)
        withExtendedLifetime(token) {}
    }

    @Test func storedTokensEndTheirListenersTogether() {
        var (set, list): (Set<ListenerToken>, [ListenerToken]) = ([], [])
        channel.listen { [owner] number in owner.hear("a\(number)") }.store(in: &set)
        channel.intercept { post in .replace(post.message + 1) }.store(in: &set)
        channel.listen { [owner] number in owner.hear("b\(number)") }.store(in: &list)
        channel.listen { [owner] number in owner.hear("c\(number)") }.store(in: &list)
        #expect(channel.post(1) == 3)
        #expect(set.count == 2 && list[0] == list[0] && list[0] != list[1])
        set.removeAll()
        #expect(channel.post(2) == 2)
        list.removeLast()
        #expect(channel.post(3) == 1)
        list = []
        #expect(channel.isEmpty)
        #expect(owner.heard.all == ["a2", "b2", "c2", "b2", "c2", "b3"])
    }

    @Test func prioritiesAreIntegersOfWhichThreeHaveNames() {
        #expect([ListenerPriority.low, .normal, .high].map(\.rawValue) == [-100, 0, 100])
        #expect([ListenerPriority.high, 3, .low, -7].sorted() == [.low, -7, 3, .high])
        #expect(
            "\(ListenerPriority.high) \(ListenerPriority.low) \(ListenerPriority.normal) \(42 as ListenerPriority)"
                == "high low normal 42"
        )
    }
}
