import ChannelsDiagnostics
import ChannelsTesting
import Testing

@testable import Channels

extension ChannelName<Int> {
    fileprivate static var number: Self { "kept.number" }
}

/// The channel that a post makes because patterns hear its name, and that is kept for the next post.
struct KeptChannelTests {
    private let heard = Recorder<String>()

    private func kept<Message: Sendable>(_ name: ChannelName<Message>, on board: Switchboard) -> AnyObject? {
        board.registry.withShard(of: name.key) {
            $0.channelEvenIfKept(name.key, ofMessages: ObjectIdentifier(Message.self))
        }
    }

    @Test func postsThatOnlyPatternsHearUseOneChannelThatGoesWithTheLastPattern() async {
        let board = Switchboard()
        let tokens = ["kept.*", ">"].map { board[matching: ChannelPattern(stringLiteral: $0)].listen { _ in } }
        #expect(kept(.number, on: board) == nil)
        #expect(board[.number].post(1) == 2)
        weak let channel = kept(.number, on: board)
        #expect(channel != nil)
        #expect(await board[.number].postAndWait(2).completedCount == 2)
        #expect(channel != nil && channel === kept(.number, on: board))
        tokens[0].cancel()
        #expect(board[.number].post(3) == 1 && channel === kept(.number, on: board))
        tokens[1].cancel()
        #expect(channel == nil && board[.number].post(4) == 0)
    }

    @Test func aNameThatOnlyPatternsHearIsFreeForAnotherTypeAndAnotherKind() throws {
        let board = Switchboard()
        let token = board[matching: "kept.*"].listen { [heard] in heard.record("\($0.message)") }
        let text: ChannelName<String> = "kept.number"
        board[.number].post(1)
        board[text].post("two")
        board[.number].post(3)
        #expect(!board.removeChannel(.number))
        let channel = try board.channel("kept.number", of: Double.self)
        channel.post(4)
        #expect(throws: ChannelError.self) { try board.channel("kept.number", of: Int.self) }
        #expect(board.removeChannel(text))
        board[.number].post(5)
        board.state("kept.number", initial: "").set("six")
        #expect(heard.all == ["1", "two", "3", "4.0", "5", "six"])
        withExtendedLifetime(token) {}
    }

    @Test func whoAsksForAnotherReentrancyGetsAChannelOfThatAndNoFault() {
        let faults = Recorder<Fault>()
        let board = Switchboard { faults.record($0) }
        let token = board[matching: "kept.*"].listen { [heard] in heard.record("\($0.message)") }
        board[.number].post(1)
        let channel = board.channel(.number, reentrancy: .queued)
        let own = channel.listen { [heard] number in
            if number < 4 { channel.post(number + 1) } else { heard.record("own") }
        }
        board[.number].post(3)
        #expect(heard.all == ["1", "3", "4", "own"] && faults.all.isEmpty)
        withExtendedLifetime((token, own)) {}
    }

    @Test func itIsNeitherFoundNorCountedNorShown() {
        let board = Switchboard()
        let token = board[matching: "kept.*"].listen { _ in }
        board[.number].post(1)
        #expect(board[.number].listenerCount == 0 && board.snapshot().channels.isEmpty)
        board.diagnostics = .counts
        board[.number].post(2)
        #expect(board.snapshot().channels.map(\.postCount) == [1])
        withExtendedLifetime(token) {}
    }

    /// Rule 9 holds for a name that gets a listener of its own in the middle of a post.
    @Test func whoAsksForTheChannelDuringAPostIsHandedTheOneInUse() {
        let board = Switchboard(reentrancy: .queued)
        let own = Slot<ListenerToken>()
        let token = board[matching: "kept.*"].listen { [heard] post in
            heard.record("pattern \(post.message)")
            guard post.message as? Int == 1 else { return }
            own.value = board[.number].listen { heard.record("own \($0)") }
            #expect(board[.number].post(2) == 2)
            heard.record("after")
        }
        board[.number].post(1)
        #expect(heard.takeAll() == ["pattern 1", "after", "pattern 2", "own 2"])
        own.value?.cancel()
        board[.number].post(3)
        #expect(heard.all == ["pattern 3"])
        withExtendedLifetime(token) {}
    }

    @Test func aPatternThatPostsTheNameItHearsIsRefusedAtTheLimit() {
        let faults = Recorder<Fault>()
        let board = Switchboard { faults.record($0) }
        let calls = Tally()
        let token = board[matching: "kept.*"].listen { _ in
            calls.add()
            board[.number].post(1)
        }
        board[.number].post(1)
        #expect(calls.value == 64 && faults.all.map(\.detail) == ["limit 64"])
        withExtendedLifetime(token) {}
    }

    /// Names may be invented at run time.
    @Test func atMost1024AreKept() throws {
        let board = Switchboard()
        let count = Tally()
        let token = board[matching: "kept.>"].listen { _ in count.add() }
        for round in 0..<2 {
            for number in 0..<3_000 {
                #expect(board[try ChannelName<Int>(validating: "kept.name.\(number)")].post(round) == 1)
            }
        }
        #expect(count.value == 6_000 && (100...1_024).contains(board.registry.channels.count))
        token.cancel()
        #expect(board.registry.channels.isEmpty)
    }

    /// Threads post to the same names as one type or another, while patterns and listeners come and go.
    @Test(arguments: Seed.first(40))
    func nothingIsMissedOrLeftWhileTypesPatternsAndListenersComeAndGo(seed: Seed) async {
        let living = Tally()
        do {
            let board = Switchboard(onFault: { _ in })
            let (all, reached) = (Tally(), Tally())
            let stays = board[matching: "kept.*"].listen { [witness = Witness(living)] _ in
                all.add()
                withExtendedLifetime(witness) {}
            }
            await onThreads(3) { index in
                var random = SeededGenerator(seed: seed.number * 3 + index)
                var tokens: [ListenerToken] = []
                for round in 0..<100 {
                    let text = "kept.name-\(Int.random(in: 0..<2, using: &random))"
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0:
                        tokens.append(
                            board[matching: "kept.*"].listen { [witness = Witness(living)] _ in
                                withExtendedLifetime(witness) {}
                            }
                        )
                    case 1: if !tokens.isEmpty { tokens.removeFirst().cancel() }
                    case 2:
                        // A name of its own: nobody uses it with another type while there is a listener.
                        guard let name = try? ChannelName<Int>(validating: "kept.own-\(index)") else { break }
                        let heard = Tally()
                        let token = board[name].listen { heard.add($0) }
                        if board[name].post(round) > 1 { reached.add() }
                        #expect(heard.value == round)
                        token.cancel()
                    default:
                        let isText = Bool.random(using: &random)
                        let count =
                            isText
                            ? (try? ChannelName<String>(validating: text)).map { board[$0].post("\(round)") }
                            : (try? ChannelName<Int>(validating: text)).map { board[$0].post(round) }
                        if count ?? 0 > 0 { reached.add() }
                    }
                }
                for token in tokens { token.cancel() }
            }
            #expect(all.value == reached.value)
            stays.cancel()
            #expect(board.registry.channels.isEmpty)
        }
        #expect(living.value == 0)
    }

    /// From a look-up on it is no kept one, and makes way for none.
    @Test(arguments: [false, true])
    func aListenerOfANameThatAPatternHeardFirstStaysWhileManyNamesAreUsed(holds: Bool) throws {
        let board = Switchboard()
        let (heard, all) = (Recorder<Int>(), Tally())
        let pattern = board[matching: "job.>"].listen { _ in all.add() }
        let name: ChannelName<Int> = "job.1"
        board[name].post(0)
        let token = board[name].listen { heard.record($0) }
        let channel = holds ? board[name].channel : nil
        for number in 2..<3_000 { board[try ChannelName<Int>(validating: "job.\(number)")].post(number) }
        #expect(board[name].post(1) == 2)
        #expect(heard.all == [1])
        #expect(token.isActive)
        #expect(all.value == 3_000)
        withExtendedLifetime((pattern, token, channel)) {}
    }
}
