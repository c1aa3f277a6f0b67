#if NATS
import Testing

@testable import ChannelsNATS

/// What a process that starts passes on, and when. Messages are their sequences.
@Suite(.hangLimit)
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
        takeover.endWait()
        #expect(!takeover.isWaiting && takeover.limit == .max)
        let late = pass([7, 9, 13], to: &takeover)
        #expect(late == [7, 9, 11, 12, 13] && takeover.isOver)
    }

    @Test func newerMessageIsPassedOnWhereOlderOnesDoNotCome() {
        var takeover = started
        let early = pass([11], to: &takeover)
        takeover.endWait()
        let late = pass([4, 12, 13], to: &takeover)
        #expect(early.isEmpty && late == [4, 11, 12, 13] && takeover.isOver)
    }

    @Test func newerMessageIsPassedOnWhenTheServerHasNoOther() {
        var takeover = started
        // That the first requests are over says nothing: the older messages are kept.
        let early = pass([11], to: &takeover) + takeover.requestEnded()
        #expect(early.isEmpty && takeover.isWaiting)
        takeover.endWait()
        let late = takeover.requestEnded()
        #expect(late == [11] && takeover.isOver)
    }

    @Test func waitWithoutANewerMessageLeavesTheOrderToTheServer() {
        var takeover = started
        takeover.endWait()
        #expect(takeover.limit == .max)
        let passed = takeover.requestEnded()
        #expect(passed.isEmpty && takeover.isOver)
        takeover.endWait()
        #expect(takeover.isOver)
    }

    // MARK: Taken back

    private let takenBack = Takeover<UInt64>(unsettled: 3, last: 10, areTakenBack: true)

    @Test func messagesTakenBackArePassedOnInOrderWhenComplete() {
        var takeover = takenBack
        #expect(takeover.limit == .max)
        let early = pass([9, 4], to: &takeover)
        #expect(early.isEmpty && takeover.isOrdering)
        let late = pass([7, 11], to: &takeover)
        #expect(late == [4, 7, 9, 11] && takeover.isOver)
    }

    @Test func newerMessageEndsTheWaitForOlderOnes() {
        var takeover = takenBack
        let passed = pass([9, 4, 11, 12], to: &takeover)
        #expect(passed == [4, 9, 11, 12] && takeover.isOver)
    }

    @Test func endOfARequestEndsTheWaitForOlderOnes() {
        var takeover = takenBack
        let early = pass([9, 4], to: &takeover)
        let late = takeover.requestEnded()
        #expect(early.isEmpty && late == [4, 9] && takeover.isOver)
    }

    @Test func withoutRoomThoseThatHaveComeArePassedOnInOrder() {
        var takeover = takenBack
        let early = pass([9, 7], to: &takeover)
        let full = takeover.takeSetAside()
        #expect(early.isEmpty && full == [7, 9] && takeover.isOrdering)
        let late = pass([4], to: &takeover)
        #expect(late == [4] && takeover.isOver)
    }

    @Test func messagesThatAreNotTakenBackAfterAllAreWaitedFor() {
        var (takeover, other) = (takenBack, takenBack)
        let passed = pass([11], to: &takeover)
        #expect(passed.isEmpty && takeover.isWaiting)
        let ended = other.requestEnded()
        #expect(ended.isEmpty && !other.isOrdering && other.limit == 3)
    }

    @Test(arguments: [true, false]) func messageThatComesTwiceIsNotTakenForAnotherOne(areTakenBack: Bool) {
        var takeover = Takeover<UInt64>(unsettled: 3, last: 10, areTakenBack: areTakenBack)
        _ = pass([4, 4, 4], to: &takeover)
        #expect(!takeover.isOver)
        let passed = pass([7, 9], to: &takeover)
        #expect(passed.suffix(2) == [7, 9] && takeover.isOver)
    }

    @Test func floorTellsWhetherOthersHaveSettledThem() {
        #expect(!started.areSettled(upTo: 9) && started.areSettled(upTo: 10) && started.areSettled(upTo: 11))
    }

    // MARK: Lost with the connection

    /// The connection is back, and 12 has come on it.
    private var asking: Takeover<UInt64> {
        var takeover = Takeover<UInt64>(unsettled: 0, last: 0)
        takeover.ask()
        #expect(takeover.received(12, sequence: 12).isEmpty)
        return takeover
    }

    @Test func whatComesIsSetAsideUntilItIsKnownWhatWasLost() {
        var takeover = asking
        #expect(takeover.requestEnded().isEmpty && takeover.isAsking)
        takeover.restore(0, besides: [12], last: 12)
        #expect(takeover.requestEnded() == [12])
        #expect(takeover.isOver)
    }

    @Test func whatWasLostComesBeforeWhatWasSetAside() {
        var takeover = asking
        takeover.restore(2, besides: [9, 12], last: 12)
        let early = pass([11], to: &takeover)
        #expect(early.isEmpty && takeover.isRestoring)
        let late = pass([10, 13], to: &takeover)
        #expect(late == [10, 11, 12, 13] && takeover.isOver)
    }

    /// Because of a request that was made on the connection before.
    @Test func newerMessageDeliveredBeforeWhatWasLostIsSetAside() {
        var takeover = asking
        takeover.restore(2, besides: [12], last: 12, after: 7)
        let early = takeover.received(13, sequence: 13, number: 7) + takeover.received(10, sequence: 10, number: 8)
        #expect(early.isEmpty)
        let late = takeover.received(14, sequence: 14, number: 9)
        #expect(late == [10, 12, 13, 14] && takeover.isOver)
    }

    @Test func whatWasLostAndCameBeforeIsNotWaitedFor() {
        var takeover = asking
        takeover.restore(2, besides: [], last: 12)
        let passed = pass([10], to: &takeover)
        #expect(passed == [10, 12] && takeover.isOver)
    }

    @Test func connectionThatIsLostAgainKeepsWhatIsSetAside() {
        var takeover = asking
        takeover.restore(3, besides: [12], last: 12)
        let early = pass([10], to: &takeover)
        takeover.ask()
        #expect(early.isEmpty && takeover.isAsking)
        takeover.restore(1, besides: [10, 12], last: 12)
        let late = pass([11], to: &takeover)
        #expect(late == [10, 11, 12] && takeover.isOver)
    }

    @Test func endOfARequestEndsTheWaitForWhatWasLost() {
        var takeover = asking
        takeover.restore(3, besides: [12], last: 12)
        #expect(takeover.requestEnded() == [12])
        #expect(takeover.isOver)
    }

    @Test func nothingSetAsideIsLostWhereTheLossIsUnknown() {
        var takeover = asking
        #expect(takeover.stopAsking() == [12])
        #expect(takeover.isOver)
        takeover.restore(3, besides: [], last: 12)
        #expect(takeover.isOver)
    }

    @Test func waitForWhatOthersKeepContinuesAfterALossOfConnection() {
        var takeover = started
        let early = pass([11], to: &takeover)
        takeover.ask()
        #expect(early.isEmpty && takeover.isWaiting && takeover.stopAsking().isEmpty)
    }
}
#endif
