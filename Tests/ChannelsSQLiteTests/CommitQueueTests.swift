#if SQLite
import ChannelsBridge
@testable import ChannelsSQLite
import GRDB
import TestSupport
import Testing

/// What is committed when, and whose end is told: without a file.
struct CommitQueueTests {
    private typealias Change = CommitQueue.Change
    private let now = ContinuousClock.now

    private func queue(_ kinds: [Change.Kind], busyTimeout: Duration = .seconds(30)) -> CommitQueue {
        var commits = CommitQueue(busyTimeout: busyTimeout)
        for kind in kinds {
            _ = commits.add(Change(kind: kind) { _, _ in })
        }
        return commits
    }

    private func error(_ code: ResultCode) -> BridgeError {
        BridgeError(DatabaseError(resultCode: code), path: "shop.sqlite")
    }

    /// A name that is in use is no reason why messages are not stored.
    @Test func aChangeThatIsRefusedFailsAlone() throws {
        var commits = queue([.message, .task, .message, .settling])
        let refused = BridgeError(.refused, detail: "a running process uses the durable name")
        let first = try #require(commits.next(now))
        #expect(!first.isSeparate && first.changes.count == 4)
        // All are made once more, each for itself.
        #expect(commits.failed(first, refused, now).ends.isEmpty && commits.trouble == nil)
        let second = try #require(commits.next(now))
        #expect(second.isSeparate)
        let ends = commits.committed(second, [1: refused]).ends
        #expect(ends.map(\.error?.code) == [nil, .refused, nil, nil])
        #expect(commits.next(now) == nil)
    }

    /// Also those that came while it was tried, and with an error of their own: they may be published again.
    @Test func messagesBehindOneThatCannotBeStoredFailToo() throws {
        var commits = queue([.message, .message, .task])
        let batch = try #require(commits.next(now))
        _ = commits.add(Change(kind: .message) { _, _ in })
        _ = commits.add(Change(kind: .upkeep) { _, _ in })
        let tooBig = error(.SQLITE_TOOBIG)
        let ends = commits.committed(batch, [1: tooBig]).ends
        #expect(ends.map(\.error?.code) == [nil, tooBig.code, nil, .notAcknowledged])
        #expect(commits.next(now)?.changes.map(\.kind) == [.upkeep])
    }

    @Test func whatCanFailFailsAtOnceInTroubleAndTheRestWaits() throws {
        var commits = queue([.message, .settling, .plain])
        let (ends, trouble) = commits.failed(commits.next(now), error(.SQLITE_IOERR), now)
        #expect(ends.map(\.change.kind) == [.message, .plain] && trouble?.detail?.contains("the disk failed") == true)
        #expect(
            commits.add(Change(kind: .task) { _, _ in })?.detail == trouble?.detail
        )
        // A second later, something is written in any case.
        #expect(commits.next(now) == nil && commits.due(now) == now + .seconds(1))
        let probe = try #require(commits.next(now + .seconds(1)))
        #expect(probe.isProbe && probe.changes.map(\.kind) == [.settling])
        // It is told once.
        let again = commits.failed(probe, error(.SQLITE_IOERR), now + .seconds(1))
        #expect(again.trouble == nil && again.ends.isEmpty)
        #expect(commits.committed(probe, [:]).trouble == now && commits.trouble == nil)
    }

    /// Tables of a later version, for instance: it is tried again, but not at once.
    @Test func aProbeThatFailsForAnotherReasonWaitsAsWell() throws {
        var commits = queue([.message])
        _ = commits.failed(commits.next(now), error(.SQLITE_FULL), now)
        let later = now + .seconds(2)
        let probe = try #require(commits.next(later))
        #expect(probe.changes.isEmpty)
        #expect(commits.failed(probe, BridgeError(.settingsDiffer), later).trouble?.code == .settingsDiffer)
        #expect(commits.next(later) == nil && commits.due(later) == later + .seconds(1))
    }

    @Test func aLockIsTriedEach10MillisecondsAtLeastAndToldAfterAWhile() throws {
        var (commits, time) = (queue([.message, .settling], busyTimeout: .seconds(2)), now)
        var (pauses, told): ([Duration], ContinuousClock.Instant?) = ([], nil)
        while true {
            let (ends, trouble) = commits.failed(commits.next(time), error(.SQLITE_BUSY), time)
            if trouble != nil { told = told ?? time }
            if !ends.isEmpty {
                #expect(ends.map(\.change.kind) == [.message])
                break
            }
            let due = try #require(commits.due(time))
            pauses.append(time.duration(to: due))
            time = due
        }
        #expect(pauses.first == .milliseconds(2) && pauses.max() == .milliseconds(10) && pauses == pauses.sorted())
        let untold = try now.duration(to: #require(told))
        #expect(untold > .milliseconds(1_280) && untold < .milliseconds(1_300))
        #expect(commits.isLate && now.duration(to: time) > .milliseconds(1_980))
        // It is tried again, with what need not succeed.
        let next = try #require(commits.next(time + .milliseconds(20)))
        #expect(next.changes.map(\.kind) == [.settling] && !next.isProbe)
    }

    @Test func aFileThatOthersWriteToIsNotTakenForLocked() throws {
        var (commits, time) = (queue([.message], busyTimeout: .seconds(2)), now)
        for attempt in 1...2_000 {
            let (ends, trouble) = commits.failed(commits.next(time), error(.SQLITE_BUSY), time)
            #expect(ends.isEmpty && trouble == nil)
            if attempt.isMultiple(of: 100) { commits.othersCommitted() }
            time = try #require(commits.due(time))
        }
        // The next attempts are less rare.
        _ = commits.committed(commits.next(time), [:])
        _ = commits.add(Change(kind: .message) { _, _ in })
        _ = commits.failed(commits.next(time), error(.SQLITE_BUSY), time)
        #expect(commits.due(time) == time + .milliseconds(5))
    }

    /// On a nearly full disk, there may be room for the first ones.
    @Test func onAFullDiskFewerAreTriedAtOnce() throws {
        var commits = queue(Array(repeating: .message, count: 8))
        for count in [8, 4, 2] {
            let batch = try #require(commits.next(now))
            #expect(batch.changes.count == count)
            #expect(commits.failed(batch, error(.SQLITE_FULL), now).ends.isEmpty && commits.trouble == nil)
        }
        _ = commits.committed(commits.next(now), [:])
        let second = try #require(commits.next(now))
        #expect(second.changes.count == 2)
        _ = commits.committed(second, [:])
        #expect(commits.next(now)?.changes.count == 4)
    }

    @Test(arguments: [ResultCode.SQLITE_FULL, .SQLITE_IOERR]) func theLastChangeIsTriedOnceAlsoInTrouble(
        code: ResultCode
    ) {
        var commits = queue([.settling])
        _ = commits.failed(commits.next(now), error(code), now)
        #expect(commits.next(now) == nil)
        _ = commits.add(Change(kind: .last) { _, _ in })
        let ends = commits.failed(commits.next(now), error(.SQLITE_IOERR), now).ends
        #expect(ends.map(\.change.kind) == [.settling, .last])
    }

    /// Whether what is due now and then came before the last change or after it.
    @Test(arguments: [[CommitQueue.Change.Kind.last], [.upkeep, .last], [.last, .upkeep], [.settling, .last]])
    func theLastChangeWaitsForALockOnlyWithWhatMustBeMade(kinds: [CommitQueue.Change.Kind]) {
        var commits = queue(kinds)
        let ends = commits.failed(commits.next(now), error(.SQLITE_BUSY), now).ends
        #expect(ends.map(\.change.kind) == (kinds.contains(.settling) ? [] : kinds))
        #expect(ends.allSatisfy { $0.error == nil })
    }

    @Test func whatBelongsToASessionEndsWithIt() {
        var commits = queue([.message, .settling, .upkeep, .task, .plain])
        commits.endSession()
        #expect(commits.next(now)?.changes.map(\.kind) == [.message, .task, .plain])
    }
}

/// When a connection looks at its file: without one.
struct LookScheduleTests {
    private let now = ContinuousClock.now

    @Test func withoutAHintItLooksOnceASecond() {
        var schedule = LookSchedule(now)
        #expect(schedule.next == now + .seconds(1))
        schedule.looked(now + .seconds(1), found: false, until: now + .seconds(1))
        #expect(schedule.next == now + .seconds(2))
    }

    /// The event comes with the write, and the commit is visible after the sync.
    @Test func afterAHintItLooksUntilTheCommitIsThere() {
        var (schedule, looks) = (LookSchedule(now), 0)
        schedule.hint(now + .milliseconds(1))
        var time = schedule.next
        #expect(time == now + .milliseconds(1))
        // The writer waits 20 ms for its disk: a tenth of that is the most that is added.
        while time < now + .milliseconds(21) {
            schedule.looked(time, found: false, until: time)
            #expect(schedule.next - time <= .milliseconds(2))
            (time, looks) = (schedule.next, looks + 1)
        }
        #expect(looks < 40)
        schedule.looked(time, found: true, until: time)
        #expect(schedule.next == time + .seconds(1))
    }

    @Test func aHintOfACommitThatNeverComesIsForgotten() {
        var schedule = LookSchedule(now)
        schedule.hint(now)
        var (time, looks) = (schedule.next, 0)
        while time < now + .milliseconds(500) {
            schedule.looked(time, found: false, until: time)
            (time, looks) = (schedule.next, looks + 1)
        }
        #expect(looks < 60)
    }

    /// Somebody else may have written just after this connection; mostly nobody has.
    @Test func afterACommitOfItsOwnItLooksAFewTimes() {
        var schedule = LookSchedule(now)
        schedule.wrote(now)
        var (time, looks) = (schedule.next, 0)
        #expect(time == now + .milliseconds(1))
        while time < now + .seconds(1) {
            schedule.looked(time, found: false, until: time)
            (time, looks) = (schedule.next, looks + 1)
        }
        #expect(looks < 8)
    }

    /// What others write all the time takes a fifth of the thread.
    @Test func itRestsAfterALookThatTookLong() {
        var schedule = LookSchedule(now)
        schedule.hint(now)
        schedule.looked(now, found: true, until: now + .milliseconds(1))
        schedule.hint(now + .milliseconds(1))
        #expect(schedule.next == now + .milliseconds(5))
    }

    /// Fifty processes would look at each commit of one.
    @Test func itLooksEverLessOftenAtWhatDoesNotConcernIt() {
        var (schedule, time) = (LookSchedule(now), now)
        func pause() -> Duration {
            schedule.hint(time)
            schedule.looked(time, found: true, until: time + .milliseconds(1))
            time += .milliseconds(1)
            schedule.hint(time)
            defer { time = schedule.next }
            return time.duration(to: schedule.next)
        }
        #expect((0..<4).map { _ in pause() } == [4, 8, 10, 10].map { .milliseconds($0) })
        schedule.delivered()
        #expect(pause() == .milliseconds(4))
    }

    @Test func withoutAWatchItLooksOftenAndThenLessOften() {
        var schedule = LookSchedule(now)
        schedule.isWatching = false
        var time = schedule.next
        #expect(time == now + .milliseconds(5))
        while time < now + .seconds(10) {
            schedule.looked(time, found: false, until: time)
            time = schedule.next
        }
        schedule.looked(time, found: false, until: time)
        #expect(schedule.next == time + .milliseconds(100))
    }
}
#endif
