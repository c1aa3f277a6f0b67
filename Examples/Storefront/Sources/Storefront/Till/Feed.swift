import Channels
import Logging
import ServiceLifecycle

/// Rings up one bill after the other, at a steady rate.
struct Feed: Service {
    let board: Switchboard
    let bills: Bills
    /// Sales in a second.
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
                // Catches up, but not with what a machine that was asleep has slept through.
                next = max(next + .seconds(1 / rate), .now - .seconds(1))
            } else {
                // Nothing is skipped: the ledger knows the bill by its id, whatever has become of it.
                logger.warning("bill \(number) is not booked yet: \(report)")
                next = .now + .seconds(1)
            }
            await pause(until: next)
        }
    }

    /// Behind what an earlier run has rung up.
    private func firstNumber() async -> Int {
        let booked = board.state(.billsBooked, initial: nil)
        let known = await cancelWhenGracefulShutdown { await booked.first { $0 != nil } }
        return ((known ?? nil) ?? 0) + 1
    }

    /// Ends early when the process shuts down. What is being posted is not interrupted, only the pause is.
    private func pause(until time: ContinuousClock.Instant) async {
        try? await cancelWhenGracefulShutdown { try await Task.sleep(until: time, clock: .continuous) }
    }
}
