import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Testing

extension ChannelName<Int> {
    fileprivate static var number: Self { "rules.number" }
}

extension StateName<Int> {
    fileprivate static var stock: Self { "rules.stock" }
}

/// Rule 13: one channel per name, as long as anyone holds it or listens.
struct SwitchboardTests {
    /// Channels that come and go one after the other mostly stand at one address: none must be taken for the
    /// one before.
    @Test func aPatternHearsEveryChannelThatComesWhereAnotherWas() throws {
        let board = Switchboard()
        let heard = Tally()
        let token = board[matching: "shop.*"].listen { _ in heard.add() }
        for number in 1...500 {
            try board.channel("shop.\(number)", of: Int.self).post(number)
            #expect(heard.value == number)
        }
        #expect(board.snapshot().channels.isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test func aSwitchboardHandsOutOneChannelPerNameWhileItIsHeld() async {
        let board = Switchboard()
        let first = board.channel(.number)
        #expect(board.channel(.number) === first)
        for _ in 0..<100 {
            let seen = Recorder<Channel<Int>>()
            let name = "racing"
            await onThreads(3) { _ in
                if let channel = try? board.channel(name, of: Int.self) { seen.record(channel) }
            }
            #expect(Set(seen.all.map { ObjectIdentifier($0) }).count == 1)
        }
    }

    @Test func aChannelLivesWhileSomebodyListensAndItsNameIsFreeAfterwards() throws {
        let board = Switchboard()
        let heard = Recorder<Int>()
        let token = board[.number].listen { heard.record($0) }
        #expect(board[.number].post(1) == 1)
        #expect(heard.all == [1])
        token.cancel()
        #expect(board.snapshot().channels.isEmpty)
        #expect(try board.channel("rules.number", of: String.self).name == "rules.number")
    }

    @Test func unusedNamesCostNothing() throws {
        let board = Switchboard()
        for number in 0..<10_000 {
            let name = try ChannelName<Int>(validating: "unused.\(number)")
            #expect(board[name].post(number) == 0)
            switch number % 3 {
            case 0: _ = board.channel(name)
            case 1: board[name].listen { _ in }.cancel()
            default: _ = board.channel(name).messages()
            }
        }
        #expect(board.snapshot().channels.isEmpty)
    }

    @Test func postingToANameNobodyListensToKeepsNothing() {
        let board = Switchboard()
        let living = Tally()
        let pattern = board[matching: "other.>"].listen { _ in }
        #expect(board["nobody"].post(Witness(living)) == 0)
        #expect(living.value == 0)
        #expect(board.snapshot().channels.isEmpty)
        withExtendedLifetime(pattern) {}
    }

    @Test func aNamedStateIsHeldUntilRemovedWhateverALaterInitial() {
        let board = Switchboard()
        board.state(.stock, initial: 1).set(2)
        #expect(board.state(.stock, initial: 3).value == 2)
        #expect(board.removeState(StateName.stock))
        #expect(!board.removeState(StateName.stock))
        #expect(board.state(.stock, initial: 3).value == 3)
    }

    @Test func aSwitchboardThatGoesReleasesItsChannelsAndListeners() {
        let living = Tally()
        let owner = Owner()
        var tokens: [ListenerToken] = []
        do {
            let board = Switchboard()
            let dying = Owner()
            for owner in [owner, dying] {
                tokens.append(
                    board[.number].listen(owner) { [witness = Witness(living)] _, _ in
                        withExtendedLifetime(witness) {}
                    }
                )
                tokens.append(
                    board[matching: "rules.*"].listen(owner) { [witness = Witness(living)] _, _ in
                        withExtendedLifetime(witness) {}
                    }
                )
                let state = board.state("rules.state", initial: 0)
                tokens.append(
                    state.listen(owner) { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
                )
            }
            #expect(board[.number].post(1) == 4)
        }
        #expect(living.value == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
        withExtendedLifetime(owner) {}
    }

    @Test func aRemovedChannelThatSomebodyHoldsGoesOnWithoutItsName() {
        let board = Switchboard()
        let heard = Recorder<String>()
        let old = board.channel(.number)
        let oldToken = old.listen { heard.record("old \($0)") }
        #expect(board.removeChannel(.number))
        #expect(board[.number].post(1) == 0)
        let newToken = board[.number].listen { heard.record("new \($0)") }
        old.post(2)
        board[.number].post(3)
        oldToken.cancel()
        #expect(board[.number].post(4) == 1, "the old channel's end does not free the new one's name")
        #expect(heard.all == ["old 2", "new 3", "new 4"])
        withExtendedLifetime(newToken) {}
    }

    /// Whenever the pattern came: otherwise it would hear two channels of one name.
    @Test func aRemovedChannelIsHeardByNoPattern() throws {
        let board = Switchboard()
        let heard = Recorder<String>()
        let (old, state) = (board.channel(.number), board.state(.stock, initial: 0))
        let before = board[matching: ">"].listen { post in heard.record("before \(post.message)") }
        old.post(0)
        #expect(heard.all == ["before 0"])
        #expect(board.removeChannel(.number) && board.removeState(StateName.stock))
        let after = board[matching: ">"].listen { post in heard.record("after \(post.message)") }
        #expect(old.post(1) == 0)
        state.set(2)
        #expect(old.listenerCount == 0 && heard.all == ["before 0"])
        board[.number].post(3)
        #expect(heard.all.dropFirst() == ["before 3", "after 3"])
        withExtendedLifetime((before, after)) {}
    }

    @Test func removeAllEndsEverythingAnObjectTakesPartIn() async throws {
        let board = Switchboard()
        let requests: RequestName<Int, Int> = "rules.request"
        let calls = Tally()
        let leaving = Bell()
        let staying = Bell()
        for owner in [leaving, staying] {
            board[.number].listen(owner) { _, _ in calls.add() }
            board[matching: "rules.*"].listen(owner) { _, _ in calls.add() }
            board.state("rules.state", initial: 0).listen(owner) { _, _ in calls.add() }
            board.requests(requests).respond(owner) { owner, _ in owner === leaving ? 1 : 2 }
            board.add(owner, for: (any Sounding).self)
        }
        calls.set(0)
        board.removeListeners(of: leaving)
        #expect(board[.number].post(1) == 2)
        board.state("rules.state", initial: 0).set(1)
        #expect(calls.value == 4)
        #expect(board.notify((any Sounding).self) { _ in } == 1)
        #expect(try await board.requests(requests).ask(0) == 2)
    }

    @Test func patternListenersTakeTheirPlaceAndCountLikeTheChannelsOwn() {
        let board = Switchboard()
        let heard = Recorder<String>()
        let tokens = [
            board[.number].listen { heard.record("1 \($0)") },
            board[matching: "rules.*"].listen { heard.record("2 \($0.channelName ?? "") \($0.message)") },
            board[.number].listen { heard.record("3 \($0)") },
            board[matching: ">"].listen(priority: .high) { heard.record("0 \($0.channelName ?? "") \($0.message)") },
        ]
        #expect(board.channel(.number).post(7) == 4)
        #expect(heard.takeAll() == ["0 rules.number 7", "1 7", "2 rules.number 7", "3 7"])
        #expect(board["rules.text"].post("text") == 2)
        #expect(heard.takeAll() == ["0 rules.text text", "2 rules.text text"])
        tokens[1].cancel()
        #expect(board[.number].post(8) == 3)
        #expect(heard.takeAll() == ["0 rules.number 8", "1 8", "3 8"])
    }

    @Test func patternsHearStatesButNotRequests() async throws {
        let board = Switchboard()
        let heard = Recorder<String>()
        let token = board[matching: ">"].listen { heard.record("\($0.channelName ?? "") \($0.message)") }
        let state = board.state("rules.state", initial: 0)
        state.set(1)
        let requests = board.requests(RequestName<Int, Int>("rules.request"))
        let responder = requests.respond { $0 }
        _ = try await requests.ask(1)
        #expect(heard.all == ["rules.state 1"])
        withExtendedLifetime((token, responder)) {}
    }

    @Test func patternsMissNothingOnNamesThatComeAndGoOnOtherThreads() async throws {
        let board = Switchboard()
        let calls = Tally()
        let token = board[matching: "churn.*"].listen { _ in calls.add() }
        await onThreads(3) { index in
            for number in 0..<500 {
                guard let name = try? ChannelName<Int>(validating: "churn.\(number % 3)") else { continue }
                let passing = board[name].listen { _ in }
                board[name].post(number)
                passing.cancel()
            }
        }
        #expect(calls.value == 1_500)
        #expect(board.snapshot().channels.isEmpty)
        withExtendedLifetime(token) {}
    }

    /// Rule 9: a post by name inside a listener that was the only one is still a post inside a post.
    @Test func aQueuedPostWaitsAlsoWhereTheOnlyListenerWasCalledOnce() {
        let board = Switchboard(reentrancy: .queued)
        let heard = Recorder<String>()
        let owner = Owner()
        board[.number].listen(owner, once: true) { owner, _ in
            board[.number].listen(owner) { _, number in heard.record("later \(number)") }
            board[.number].post(2)
            heard.record("once ends")
        }
        board[.number].post(1)
        #expect(heard.all == ["once ends", "later 2"])
        withExtendedLifetime(owner) {}
    }

    @Test func aDifferingLaterReentrancyIsAFaultAndTheFirstCreatorDecides() {
        let faults = Recorder<Fault>()
        let board = Switchboard { faults.record($0) }
        let first = board.channel(.number, reentrancy: .queued)
        #expect(board.channel(.number) === first)
        #expect(faults.count == 0)
        #expect(board.channel(.number, reentrancy: .nested(limit: 64)) === first)
        #expect(faults.all.map(\.code) == [.reentrancyMismatch])
        #expect(faults.all.first?.channelName == "rules.number")
    }
}
