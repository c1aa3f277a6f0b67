internal import Channels
internal import Synchronization

/// What is recorded of a listener only while its channel is counted or traced. Kept with its ``ListenerRoute``.
final class ListenerRecord: Sendable {
    /// From the post to the call.
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
    /// What is recorded, if anything. Nothing else is kept as the entry's record.
    var recorded: ListenerRecord? { record.map { known($0, as: ListenerRecord.self) } }

    func ensureRecord() -> ListenerRecord { known(ensureRecord { ListenerRecord() }, as: ListenerRecord.self) }

    /// Begins anew with what is counted only while somebody looks.
    func resetRecord() {
        recorded?.reset()
        resetCounts()
    }
}
