import Channels
import Foundation

/// Askers of two request channels, beside responders that come and go: every request is answered once, by one responder;
/// none is called after `cancelAndWait`; and where an asker's time is over, its responder is still called once.
struct Requests {
    let messagesEach: Int
    private static let askers = 3

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        let requests = RequestChannel<Message, Int>(onFault: { _ in figures.faults.add() })
        let desk = Desk()
        // An asker waits for its answer, so that calls with its requests do not overlap.
        let answered = Checker("responders", isSerial: false, posters: Self.askers)
        let stays = requests.respond(desk) { (_: isolated Desk, message: Message) in
            answered.note(message)
            return message.number
        }
        let (wrong, late, passing) = (Tally(), Tally(), Tally())
        let seed = Int(truncatingIfNeeded: random.next())
        let churn = Task {
            var random = SeededGenerator(seed: seed)
            while !Task.isCancelled {
                let ended = Tally()
                let token = requests.respond(priority: .high) { message in
                    if ended.value > 0 { late.add() }
                    answered.note(message)
                    if message.number % 64 == 0 { await Task.yield() }
                    if ended.value > 0 { late.add() }
                    return message.number
                }
                for _ in 0..<Int.random(in: 0..<50, using: &random) { await Task.yield() }
                await token.cancelAndWait()
                ended.add()
                passing.add()
            }
        }
        await withTaskGroup { [messagesEach] group in
            for asker in 0..<Self.askers {
                group.addTask {
                    for number in 0..<messagesEach {
                        let answer = try? await requests.ask(Message(poster: asker, number: number))
                        if answer != number { wrong.add() }
                    }
                }
            }
        }
        churn.cancel()
        await churn.value
        await stays.cancelAndWait()
        try answered.require(0, wrong.value, "requests without their answer")
        try answered.require(0, late.value, "calls of a responder after it was cancelled and drained")
        try answered.checkOrder(mayMiss: false)
        try answered.checkAllCame(each: messagesEach)
        figures.add(answered.name, calls: answered.calls)
        figures.posts.add(Self.askers * messagesEach)
        let called = try await askForTooShortATime(answered)
        figures.add("responders, limited time", calls: called)
        withExtendedLifetime(desk) {}
    }

    /// Askers that wait for a moment only.
    ///
    /// - Returns: How often a responder was called.
    private func askForTooShortATime(_ checker: Checker) async throws -> Int {
        let requests = RequestChannel<Int, Int>()
        let (calls, asked, wrong) = (Tally(), Tally(), Tally())
        let token = requests.respond { number in
            if number % 2 == 0 { await Task.yield() }
            calls.add()
            return number
        }
        await withTaskGroup { [messagesEach] group in
            for _ in 0..<Self.askers {
                group.addTask {
                    for number in 0..<messagesEach / 4 {
                        let limit = Duration.nanoseconds(number % 100 * 1_000)
                        // Without time, nobody is asked.
                        if limit > .zero { asked.add() }
                        do throws(any Error) {
                            if try await requests.ask(number, timeout: limit) != number { wrong.add() }
                        } catch {
                            if (error as? ChannelError)?.code != .timedOut { wrong.add() }
                        }
                    }
                }
            }
        }
        await token.cancelAndWait()
        try checker.require(0, wrong.value, "limited requests with a wrong answer, or a wrong error")
        try checker.require(asked.value, calls.value, "calls, of limited requests")
        return calls.value
    }
}
