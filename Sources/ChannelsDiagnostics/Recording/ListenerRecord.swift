internal import Channels
internal import Synchronization

/// What is recorded about a listener while its channel is counted or traced. It is kept with the
/// ``ListenerRoute``.
final class ListenerRecord: Sendable {
    /// The times from posts to calls.
    let waited = TimeCounts()
    let spent = TimeCounts()
    let mostWaiting = Atomic<Int>(0)
    let failures = Atomic<Int>(0)

    func reset() {
        waited.reset()
        spent.reset()
        mostWaiting.store(0, ordering: .relaxed)
        failures.store(0, ordering: .relaxed)
    }
}

extension ListenerEntry {
    /// What is recorded, if anything. An entry has no other kind of record.
    var recorded: ListenerRecord? { record.map { known($0, as: ListenerRecord.self) } }

    func ensureRecord() -> ListenerRecord { known(ensureRecord { ListenerRecord() }, as: ListenerRecord.self) }

    /// Resets what is counted only while diagnostics are on.
    func resetRecord() {
        recorded?.reset()
        resetCounts()
    }
}
