#if NATS
import ChannelsBridge
import Testing

@testable import ChannelsNATS

/// How much of a durable name is asked for.
@Suite(.hangLimit)
struct PullStateTests {
    private func started(_ limit: Int = 4, _ byteLimit: Int = 100) -> PullState {
        var state = PullState(Room(messages: limit, bytes: byteLimit))
        state.start()
        return state
    }

    @Test func asksForAllThatFitsAndOnce() {
        var state = PullState(Room(messages: 4, bytes: 100))
        let request1 = state.next()
        #expect(request1 == nil)
        state.start()
        let request2 = state.next()
        #expect(request2 == .init(number: 1, messages: 4, bytes: 100))
        let request3 = state.next()
        #expect(request3 == nil)
    }

    @Test func asksAgainWhenHalfOfTheRoomIsFree() {
        var state = started()
        _ = state.next()
        for _ in 0..<4 { state.received(bytes: 10) }
        let request4 = state.next()
        #expect(request4 == nil)
        state.settled(bytes: 10)
        let request5 = state.next()
        #expect(request5 == nil)
        state.settled(bytes: 10)
        let request6 = state.next()
        #expect(request6 == .init(number: 2, messages: 2, bytes: 80))
    }

    @Test func asksForTheRoomThereIsWhereARequestEndedEarly() {
        var state = started()
        _ = state.next()
        for _ in 0..<3 { state.received(bytes: 10) }
        let isGone = state.received(.over, of: 1)
        #expect(!isGone)
        let second = state.next()
        #expect(second == .init(number: 2, messages: 1, bytes: 70))
        state.received(bytes: 10)
        let third = state.next()
        #expect(third == nil)
    }

    /// A server does not always say so of one that it has served in part.
    @Test func requestIsOverWhenItsTimeIsWhateverTheServerSays() {
        var state = started(8)
        let start = ContinuousClock.now
        _ = state.next(now: start)
        for _ in 0..<5 { state.received(bytes: 1) }
        let (end, _) = state.expire(now: start + PullState.requestLife)
        let tooEarly = state.next(now: start)
        #expect(end.map { $0 > start + PullState.requestLife } == true && tooEarly == nil)
        let (nothing, isLost) = state.expire(now: end ?? start)
        let request = state.next(now: start)
        #expect(nothing == nil && !isLost && request == .init(number: 2, messages: 3, bytes: 95))
    }

    /// A server (2.9.10) does not answer for a consumer that it does not have.
    @Test(arguments: [false, true]) func consumerOfWhichNothingIsSaidIsLookedFor(isSaid: Bool) {
        var state = started(8)
        let start = ContinuousClock.now
        let answers = (UInt64(1)...4).map { number in
            _ = state.next(now: start)
            if isSaid { _ = state.received(.over, of: number - 1) }
            return state.expire(now: start + PullState.requestLife * 2).isUnavailable
        }
        #expect(answers == [false, false, !isSaid, false])
        let request = state.next(now: start)
        #expect((request == nil) == !isSaid)
    }

    @Test func messagesThatAreFewAndLargeAreBoundedByTheirBytes() {
        var state = started()
        _ = state.next()
        state.received(bytes: 60)
        let isLost7 = state.received(.tooLarge, of: 1)
        #expect(!isLost7)
        let request8 = state.next()
        #expect(request8 == nil)
        state.settled(bytes: 60)
        let request9 = state.next()
        #expect(request9 == .init(number: 2, messages: 4, bytes: 100))
    }

    @Test func messageLargerThanTheLimitIsFetchedAlone() {
        var state = started()
        _ = state.next()
        let isLost10 = state.received(.tooLarge, of: 1)
        #expect(!isLost10)
        let request11 = state.next()
        #expect(request11 == .init(number: 2, messages: 1, bytes: nil))
        state.received(bytes: 5_000)
        let request12 = state.next()
        #expect(request12 == nil)
        state.settled(bytes: 5_000)
        let request13 = state.next()
        #expect(request13 == .init(number: 3, messages: 4, bytes: 100))
    }

    @Test func whereMessagesComeAgainAsManyAsFitAreAskedFor() {
        var state = started(8, 100)
        let first = state.next(upTo: 30)
        #expect(first == .init(number: 1, messages: 3, bytes: nil))
        for _ in 0..<3 { state.received(bytes: 10) }
        // Also where less than half of the room is free: they come before anything else.
        let second = state.next(upTo: 30)
        #expect(second == .init(number: 2, messages: 2, bytes: nil))
        for _ in 0..<2 { state.received(bytes: 20) }
        let third = state.next(upTo: 30)
        #expect(third == .init(number: 3, messages: 1, bytes: nil))
        state.received(bytes: 30)
        let none = state.next(upTo: 30)
        #expect(none == nil)
    }

    @Test func messageThatMayExceedTheLimitIsFetchedAloneWhenRepeated() {
        var state = started(8, 100)
        let first = state.next(upTo: 1_000)
        #expect(first == .init(number: 1, messages: 1, bytes: nil))
        state.received(bytes: 10)
        let none = state.next(upTo: 1_000)
        #expect(none == nil)
        state.settled(bytes: 10)
        let second = state.next(upTo: 1_000)
        #expect(second == .init(number: 2, messages: 1, bytes: nil))
    }

    @Test func endOfAnEarlierRequestChangesNothing() {
        var state = started()
        _ = state.next()
        let isLost14 = state.received(.over, of: 1)
        #expect(!isLost14)
        let request15 = state.next()
        #expect(request15?.number == 2)
        let isLost16 = state.received(.lookUp, of: 1)
        #expect(!isLost16)
        let request17 = state.next()
        #expect(request17 == nil)
    }

    @Test func nothingIsAskedForUntilTheConsumerIsThereAgain() {
        var state = started()
        _ = state.next()
        let isLost18 = state.received(.lookUp, of: 1)
        #expect(isLost18)
        let request19 = state.next()
        #expect(request19 == nil)
        state.start()
        let request20 = state.next()
        #expect(request20?.number == 2)
    }

    /// All that nats-server 2.9 to 2.12 say, from their source.
    static let statuses: [(status: String, text: String, meaning: PullStatus)] = [
        ("100", "Idle Heartbeat", .nothing), ("100", "FlowControl Request", .nothing),
        ("400", "Bad Request - unexpected end of JSON input", .unknown),
        ("400", "Bad Request - Not a Overflow Priority consumer", .unknown),
        ("400", "Bad Request - Not a Pinned Client Priority consumer", .unknown),
        ("400", "Bad Request - Priority must be between 0 and 9", .unknown),
        ("400", "Bad Request - Priority Group missing", .lookUp),
        ("400", "Bad Request - Invalid Priority Group", .unknown),
        ("404", "No Messages", .over),
        ("408", "Requests Pending", .over), ("408", "Request Timeout", .over), ("408", "Interest Expired", .over),
        ("409", "Batch Completed", .nothing), ("409", "Message Size Exceeds MaxBytes", .tooLarge),
        ("409", "Exceeded MaxRequestBatch of 2", .lookUp), ("409", "Exceeded MaxRequestExpires of 1ms", .lookUp),
        ("409", "Exceeded MaxRequestMaxBytes of 9", .lookUp), ("409", "Exceeded MaxWaiting", .unknown),
        ("409", "Consumer is push based", .lookUp), ("409", "Consumer Deleted", .lookUp),
        ("409", "Leadership Change", .lookUp), ("409", "Server Shutdown", .lookUp),
        ("412", "Required Api Level", .unknown),
        ("423", "Nats-Wrong-Pin-Id", .lookUp), ("423", "Nats-Pin-Id mismatch", .lookUp),
        ("503", "", .lookUp), ("599", "Of a later server", .unknown),
    ]

    @Test(arguments: statuses)
    func whatAServerSaysHasOneMeaning(_ status: String, _ text: String, _ meaning: PullStatus) {
        #expect(PullStatus(status, text) == meaning)
        var state = started(2)
        _ = state.next()
        #expect(state.received(meaning, of: 1) == (meaning == .lookUp))
        #expect(state.isPending == [.nothing, .unknown].contains(meaning))
    }
}
#endif
