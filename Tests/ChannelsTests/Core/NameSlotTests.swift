import ChannelsTesting
import Dispatch
import Synchronization
import Testing

@testable import Channels

/// What a thread keeps about its posts by name.
struct NameSlotTests {
    private let number: ChannelName<Int> = "number"

    private var slot: UInt { ThreadReference.current.pointee.slot(0).pointee.address.load(ordering: .relaxed) }
    private var depth: Int { ThreadReference.current.pointee.slotsInUse }

    @Test func aPostByNameTakesASlotUntilItHasEnded() {
        let board = Switchboard()
        let name = number
        let depths = Recorder<Int>()
        let token = board[number].listen { message in
            depths.record(ThreadReference.current.pointee.slotsInUse)
            if message > 0 { board[name].post(message - 1) }
        }
        for _ in 0..<100 { board[number].post(2) }
        #expect(depths.all == (0..<100).flatMap { _ in [2, 4, 6] })
        #expect(depth == 0 && slot == 0)
        withExtendedLifetime(token) {}
    }

    /// It would be waited for when names are removed.
    @Test func aPostToANameThatNobodyHearsLeavesNoSlotTaken() {
        let board = Switchboard()
        #expect(board[number].post(1) == 0)
        #expect(depth == 0 && slot == 0)
    }

    /// Records of threads that have ended are used again.
    @Test func aNewThreadDoesNotKnowWhereItsStackEnds() {
        let known = Tally()
        for _ in 0..<50 {
            onAnotherThread {
                let channel = Channel<Int>()
                let token = channel.listen { if $0 > 0 { channel.post($0 - 1) } }
                channel.post(0)
                if ThreadReference.current.pointee.stackEnd != 0 { known.add() }
                channel.post(1)
                #expect(ThreadReference.current.pointee.stackEnd != 0)
                token.cancel()
            }
        }
        #expect(known.value == 0)
    }

    /// There are as many as there ever were threads at a time, and whoever cancels looks at all of them.
    @Test func threadsThatHaveEndedLeaveTheirRecordsToOthers() {
        func count() -> Int {
            var count = 0
            ThreadRecords.all.scan(.max) { _ in
                count += 1
                return true
            }
            return count
        }
        let before = count()
        let channel = Channel<Int>()
        let token = channel.listen { _ in }
        for number in 0..<1_000 { onAnotherThread { channel.post(number) } }
        // Other tests have threads, too.
        #expect(count() < before + 500)
        withExtendedLifetime(token) {}
    }

    /// Whoever cancels would look at all of them.
    @Test func slotsOfADeepRecursionAreForgottenByTheNextPost() async {
        await onThreads(1) { _ in
            func used() -> Int { ThreadReference.current.pointee.used.load(ordering: .relaxed) }
            let channel = Channel<Int>(reentrancy: .nested(limit: 500))
            let token = channel.listen { if $0 > 0 { channel.post($0 - 1) } }
            channel.post(300)
            #expect(used() > 300)
            channel.post(1)
            #expect(used() < 10)
            token.cancel()
        }
    }

    /// The address of a name is in its hash as a whole, not only its end.
    @Test func namesThatDifferInTheirBeginningOnlyHaveDifferentHashes() {
        let ends = ["über.orders.new", "öber.orders.new", "über.orderz.new"]
        #expect(Set(ends.map(NameScanner.hash)).count == ends.count)
    }

    /// Names of one shard are freed independently of each other.
    @Test func aLongPostByNameHoldsBackItsOwnChannelOnly() async throws {
        let board = Switchboard()
        let name: ChannelName<Int> = "slot.long"
        let (entered, release, living) = (Tally(), DispatchSemaphore(value: 0), Tally())
        let token = board[name].listen { [witness = Witness(living)] _ in
            entered.add()
            release.wait()
            withExtendedLifetime(witness) {}
        }
        async let posting: Void = onThreads(1) { _ in board[name].post(1) }
        await entered.wait(until: 1)
        board.removeChannel(name)
        for number in 0..<64 {
            let other = try ChannelName<Int>(validating: "slot.short-\(number)")
            let token = board[other].listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
            board.removeChannel(other)
            withExtendedLifetime(token) {}
        }
        #expect(living.value == 1)
        release.signal()
        await posting
        await living.wait(untilAtMost: 0)
        withExtendedLifetime(token) {}
    }

    @Test func aPostByNameKeepsNothingOfItsUsersChannel() {
        let board = Switchboard()
        let name: ChannelName<Int> = "slot.user"
        weak var list: ListenerList?
        do {
            let channel = board.channel(name)
            list = channel.list
            #expect(board[name].post(1) == 0)
            withExtendedLifetime(channel) {}
        }
        #expect(list == nil)
    }
}
