import Synchronization

/// A fault planted between a listener and its checker, to show that the checker sees it: `--plant`.
enum Plant: String, CaseIterable, Sendable {
    /// One message does not arrive.
    case lost
    /// One arrives twice.
    case twice
    /// One arrives after the one that follows it.
    case reorder
}

/// Passes messages on and does its harm once.
///
/// Unchecked: each slot is used by one thread at a time, as in the checker.
final class Sabotage: @unchecked Sendable {
    /// Set once, before anything is posted.
    nonisolated(unsafe) static var plant: Plant?
    private static let checkers = Atomic<Int>(0)

    private let plant: Plant
    private var kept: Message?

    private init(_ plant: Plant) { self.plant = plant }

    /// Something for the fifth checker made; nil for the others, and where nothing is planted.
    static func next() -> Sabotage? {
        guard let plant, checkers.add(1, ordering: .relaxed).newValue == 5 else { return nil }
        return Sabotage(plant)
    }

    func pass(_ message: Message, to see: (Message) -> Void) {
        // The first poster's only: one thread at a time.
        guard message.poster == 0, message.number == 100 || kept != nil else { return see(message) }
        switch plant {
        case .lost: break
        case .twice:
            see(message)
            see(message)
        case .reorder:
            guard let earlier = kept else {
                kept = message
                return
            }
            kept = nil
            see(message)
            see(earlier)
        }
    }
}
