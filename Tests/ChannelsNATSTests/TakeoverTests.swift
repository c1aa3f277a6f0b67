#if NATS
import Testing

@testable import ChannelsNATS

/// What a process that starts passes on, and when. Messages are their sequences.
struct TakeoverTests {
    /// Of earlier messages, the last of which is 10, three are not settled.
    private let started = Takeover<UInt64>(unsettled: 3, last: 10)

    private func pass(_ sequences: [UInt64], to takeover: inout Takeover<UInt64>) -> [UInt64] {
        sequences.flatMap { takeover.received($0, sequence: $0) }
    }

    @Test func nothingIsTakenOverWhereEverythingIsSettled() {
        var takeover = Takeover<UInt64>(unsettled: 0, last: 10)
        #expect(takeover.isOver && takeover.limit == .max)
        let passed = pass([11, 12], to: &takeover)
        #expect(passed == [11, 12])
    }

    @Test func noMoreMessagesAreFetchedThanOlderOnesAreMissing() {
        var takeover = started
        #expect(takeover.limit == 3)
        let first = pass([4, 7], to: &takeover)
        #expect(first == [4, 7] && takeover.limit == 1)
        let rest = pass([9, 11], to: &takeover)
        #expect(rest == [9, 11] && takeover.isOver)
    }

    @Test func newerMessageIsSetAsideUntilTheOlderOnesHaveCome() {
        var takeover = started
        let early = pass([4, 11, 12], to: &takeover)
        #expect(early == [4] && takeover.isWaiting && takeover.limit == 0)
        takeover.hasWaited()
        #expect(!takeover.isWaiting && takeover.limit == .max)
        let late = pass([7, 9, 13], to: &takeover)
        #expect(late == [7, 9, 11, 12, 13] && takeover.isOver)
    }

    @Test func newerMessageIsPassedOnBeforeTheNextWhereOlderOnesDoNotCome() {
        var takeover = started
        let early = pass([11], to: &takeover)
        takeover.hasWaited()
        let late = pass([4, 12, 13], to: &takeover)
        #expect(early.isEmpty && late == [4, 11, 12, 13] && takeover.isOver)
    }

    @Test func newerMessageIsPassedOnWhenTheServerHasNoOther() {
        var takeover = started
        // That the first requests are over says nothing: the older messages are kept.
        let early = pass([11], to: &takeover) + takeover.requestEnded()
        #expect(early.isEmpty && takeover.isWaiting)
        takeover.hasWaited()
        let late = takeover.requestEnded()
        #expect(late == [11] && takeover.isOver)
    }

    @Test func waitThatEndsWithoutANewerMessageLeavesTheOrderToTheServer() {
        var takeover = started
        takeover.hasWaited()
        #expect(takeover.limit == .max)
        let passed = takeover.requestEnded()
        #expect(passed.isEmpty && takeover.isOver)
        takeover.hasWaited()
        #expect(takeover.isOver)
    }

    @Test func floorTellsWhetherOthersHaveSettledThem() {
        #expect(!started.areSettled(upTo: 9) && started.areSettled(upTo: 10) && started.areSettled(upTo: 11))
    }
}
#endif
