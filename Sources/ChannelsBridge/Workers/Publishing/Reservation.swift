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
    /// Whether a message has taken the place, or it was given back.
    private let hasEnded = Locked(false)

    init(_ sender: DurableSender) {
        self.sender = sender
    }

    deinit { giveBack() }

    /// Makes a post with it, which uses it or not.
    ///
    /// - Parameter position: That of the post.
    func post<Result>(at position: PostPosition = .next, _ body: () -> Result) -> Result {
        // Not when it is released: a task that a listener begins inherits it.
        defer { giveBack() }
        return Self.$current.withValue(Use(reservation: self, position: position), operation: body)
    }

    /// Uses the reservation of the post under way, if it has one for a sender.
    static func useCurrent(for sender: DurableSender) -> Bool {
        guard let current, current.reservation.sender === sender, current.position == .current else { return false }
        return current.reservation.end()
    }

    private func giveBack() {
        if end() { sender.giveBackReservation() }
    }

    /// Whether it was held until now.
    private func end() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
