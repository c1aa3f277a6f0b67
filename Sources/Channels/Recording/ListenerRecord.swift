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
    /// The record, if there is one. Nothing else is kept in its place.
    var record: ListenerRecord? { route?.borrow { $0.record?.object }.map { known($0, as: ListenerRecord.self) } }

    func ensureRecord() -> ListenerRecord {
        known(ensureRoute().borrow { $0.ensureRecord { ListenerRecord() } }, as: ListenerRecord.self)
    }

    /// Begins anew with what is counted only while somebody looks.
    func resetRecord() {
        record?.reset()
        if !isAlwaysCounted { route?.borrow { $0.directCalls.store(0, ordering: .relaxed) } }
    }
}
