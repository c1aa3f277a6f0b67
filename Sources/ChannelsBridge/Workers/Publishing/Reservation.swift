internal import Channels

/// A place for one message in the pipeline of a durable route, held by ``Bridge/send(_:to:)``. If nothing is posted
/// with it, it is given back.
final class Reservation: Sendable {
    /// That of the post which is being made.
    @TaskLocal static var current: Reservation?

    private let sender: DurableSender
    /// Guarded by its lock.
    private let isUsed = Locked(false)

    init(_ sender: DurableSender) {
        self.sender = sender
    }

    deinit {
        if !isUsed.withLock({ $0 }) { sender.giveBackReservation() }
    }

    /// Whether it is for a sender, and was not used before.
    func use(for sender: DurableSender) -> Bool {
        guard self.sender === sender else { return false }
        return isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}
