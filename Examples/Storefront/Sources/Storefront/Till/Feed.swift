import Channels
import Logging
import ServiceLifecycle

/// Rings up one bill after another, at a steady rate.
struct Feed: Service {
    let board: Switchboard
    let bills: Bills
    /// How many sales per second.
    let rate: Double
    let logger: Logger

    func run() async throws {
        var number = await firstNumber()
        var next = ContinuousClock.now
        while !Task.isEnding {
            // Returns when the sale is in the ledger, here or in another process.
            let report = await board[.rung].postAndWait(bills[number])
            if report.isComplete {
                number += 1
                // Catches up, but only by a second, because the machine may have been asleep.
                next = max(next + .seconds(1 / rate), .now - .seconds(1))
            } else {
                // The bill is tried again. If it has been booked after all, the ledger recognizes its id.
                logger.warning("bill \(number) is not booked yet: \(report)")
                next = .now + .seconds(1)
            }
            await pause(until: next)
        }
    }

    /// Returns the number after the last bill that an earlier run has rung up.
    private func firstNumber() async -> Int {
        let booked = board.state(.billsBooked, initial: nil)
        let known = await cancelWhenGracefulShutdown { await booked.first { $0 != nil } }
        return ((known ?? nil) ?? 0) + 1
    }

    /// Waits, and ends early when the process shuts down. Only this pause is interrupted, and not a post.
    private func pause(until time: ContinuousClock.Instant) async {
        try? await cancelWhenGracefulShutdown { try await Task.sleep(until: time, clock: .continuous) }
    }
}
