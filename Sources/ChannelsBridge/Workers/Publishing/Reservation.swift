internal import Channels

/// A place for one message in the pipeline of a durable route, held by ``Bridge/send(_:to:)``. If nothing is posted
/// with it, it is given back.
final class Reservation: Sendable {
    /// One, and the post for which it is: not those that listeners make because of that.
    struct Use {
        let reservation: Reservation
        let position: PostPosition
    }

    @TaskLocal private static var current: Use?

    private let sender: DurableSender
    /// Guarded by its lock.
    private let isUsed = Locked(false)

    init(_ sender: DurableSender) {
        self.sender = sender
    }

    deinit {
        if !isUsed.withLock({ $0 }) { sender.giveBackReservation() }
    }

    /// Makes a post with it.
    ///
    /// - Parameter position: That of the post.
    func post<Result>(at position: PostPosition = .next, _ body: () -> Result) -> Result {
        Self.$current.withValue(Use(reservation: self, position: position), operation: body)
    }

    /// Uses the reservation of the post under way, if it has one for a sender.
    static func useCurrent(for sender: DurableSender) -> Bool {
        guard let current, current.reservation.sender === sender, current.position == .current else { return false }
        return current.reservation.use()
    }

    /// Whether it was not used before.
    private func use() -> Bool {
        isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}
