import ChannelsDiagnostics
import ChannelsTesting
import Testing

@testable import Channels

/// Patterns that come and go among many names: nobody waits for the walk, and nothing is missed or heard
/// twice.
struct PatternWalkTests {
    private struct Crowd {
        let board = Switchboard()
        let channels: [Channel<Int>]

        init(_ count: Int) throws {
            let board = board
            channels = try (0..<count).map { try board.channel("crowd.name-\($0)", of: Int.self) }
        }
    }

    /// However many names there are, a lock is held for a few of them at a time.
    @Test func noLockIsHeldWhileAllNamesAreWalked() throws {
        let crowd = try Crowd(20_000)
        let owner = Owner()
        let token = crowd.board[matching: "crowd.*"].listen { _ in }
        #expect(crowd.channels[0].listenerCount == 1)
        #expect(crowd.board.snapshot().channels.count == 20_000)
        crowd.board.removeListeners(of: owner)
        token.cancel()
        #expect(crowd.channels.allSatisfy { $0.isEmpty })
        #expect((1...64).contains(crowd.board.mostNamesVisitedAtOnce))
    }

    /// Names and patterns are created at the same time: afterwards each name has each pattern once.
    @Test(arguments: Seed.first(30))
    func aNameAndAPatternThatComeTogetherFindEachOtherOnce(seed: Seed) async throws {
        let board = Switchboard()
        let heard = (0..<4).map { _ in Recorder<String>() }
        let tokens = Slot<[ListenerToken]>([])
        let channels = Locked<[Channel<Int>]>([])
        await onThreads(3) { index in
            var random = SeededGenerator(seed: seed.number * 3 + index)
            guard index == 0 else {
                var made: [Channel<Int>] = []
                for number in 0..<100 {
                    guard let channel = try? board.channel("walk.name-\(index)-\(number)", of: Int.self) else {
                        continue
                    }
                    made.append(channel)
                    // Some go at once, and others take their place.
                    if Bool.random(using: &random) {
                        _ = try? board.channel("walk.gone-\(index)-\(number)", of: Int.self)
                    }
                }
                let all = made
                channels.withLock { $0 += all }
                return
            }
            var all: [ListenerToken] = []
            for recorder in heard {
                for _ in 0..<Int.random(in: 0..<4, using: &random) {
                    board[matching: "walk.*"].listen { _ in Issue.record("a cancelled pattern heard a post") }.cancel()
                }
                all.append(board[matching: "walk.*"].listen { recorder.record($0.channelName ?? "") })
            }
            tokens.value = all
        }
        let made = channels.withLock { $0 }
        #expect(made.count == 200)
        for channel in made { #expect(channel.post(1) == heard.count) }
        for recorder in heard { #expect(recorder.all == made.compactMap { $0.name }) }
        for token in tokens.value ?? [] { token.cancel() }
        #expect(made.allSatisfy { $0.isEmpty })
    }

    /// A listener registered when the pattern has been added comes after the pattern's, one from before comes
    /// before; whoever creates the channel.
    @Test(arguments: 0..<20)
    func aPatternKeepsItsPlaceAmongTheListenersOfNamesCreatedMeanwhile(round: Int) async throws {
        let board = Switchboard()
        let order = Recorder<String>()
        let tokens = Slot<[ListenerToken]>([])
        let held = Slot<[Channel<Int>]>([])
        await onThreads(2) { index in
            for number in 0..<20 {
                guard index == 0 else {
                    for _ in 0..<4 { board[matching: "place.>"].listen { _ in }.cancel() }
                    continue
                }
                guard let channel = try? board.channel("place.name-\(number)", of: Int.self) else { continue }
                let own = [
                    channel.listen { _ in order.record("before") },
                    board[matching: "place.*"].listen { _ in order.record("pattern") },
                    board[matching: ChannelPattern(stringLiteral: "place.name-0")].listen { _ in },
                    channel.listen { _ in order.record("after") },
                    channel.listen(priority: .high) { _ in order.record("first") },
                ]
                // The pattern is for one name only.
                channel.post(number)
                own[1].cancel()
                held.update { $0 = ($0 ?? []) + [channel] }
                tokens.update { $0 = ($0 ?? []) + own }
            }
        }
        #expect(order.all == Array(repeating: ["first", "before", "pattern", "after"], count: 20).flatMap { $0 })
        withExtendedLifetime((tokens, held)) {}
    }
}

extension Slot {
    fileprivate func update(_ body: (inout Value?) -> Void) {
        var changed = value
        body(&changed)
        value = changed
    }
}
