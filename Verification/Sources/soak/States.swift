import Channels
import Dispatch
import Foundation

/// Listeners and sequences of one state, which several threads change: every version once, in order, the last
/// one the one stored.
struct States {
    let messagesEach: Int
    /// Threads that change the state without a pause.
    private let posters: Int

    init(messagesEach: Int, posters: Int) {
        self.messagesEach = messagesEach
        self.posters = posters
    }

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        // The state is the message that says the how manieth change it is; all are of one "poster".
        var state: StateChannel<Message>? = StateChannel(
            Message(poster: 0, number: 0),
            onFault: { _ in figures.faults.add() }
        )
        let desk = Desk()
        let stable = listeners(state!, desk)
        let readers = [
            Reader(state!.messages(buffering: .unbounded), "state, sequence, unbounded", 1),
            Reader(state!.messages(), "state, sequence, newest(1)", 1),
        ]
        let reading = Task {
            await withTaskGroup { group in for reader in readers { group.addTask { await reader.readAll() } } }
        }
        let passing = await changeAndChurn(state!, desk, random.next())
        // A job may still deliver what the last thread left to it. Who registers has its turn behind that.
        let atTheEnd = Locked<ListenerToken?>(nil)
        await withCheckedContinuation { continuation in
            let token = state!.listen { _ in continuation.resume() }
            atTheEnd.withLock { $0 = token }
        }
        for (checker, token, _) in stable + passing { try await checker.wait(for: token) }
        let last = state!.value.number
        atTheEnd.withLock { $0 = nil }
        state = nil
        await reading.value

        for (checker, token, isBounded) in stable {
            await token.cancelAndWait()
            try checker.checkOrder(mayMiss: isBounded)
            try checker.require(last, checker.last(of: 0), "the last version seen, of the one stored")
            try checker.require(last + 1, checker.calls + token.droppedCount, "delivered + dropped, of versions")
            figures.add(checker.name, calls: checker.calls, dropped: token.droppedCount)
        }
        for reader in readers {
            try reader.check(posted: last + 1)
            try reader.checker.require(last, reader.checker.last(of: 0), "the last version seen, of the one stored")
            figures.add(reader)
        }
        for (checker, token, _) in passing {
            await token.cancelAndWait()
            try checker.checkOrder(mayMiss: false)
            try checker.require(checker.calls, token.deliveredCount, "versions counted as delivered")
            figures.add(checker.name, calls: checker.calls, dropped: 0, discarded: token.discardedCount)
        }
        try stable[0].0.require(posters * messagesEach, last, "the version stored, of changes made")
        figures.posts.add(last)
        withExtendedLifetime(desk) {}
    }

    private typealias Listening = (Checker, ListenerToken, isBounded: Bool)

    private func listeners(_ state: StateChannel<Message>, _ desk: Desk) -> [Listening] {
        func checker(_ name: String) -> Checker { Checker("state, \(name)", isSerial: true, posters: 1) }
        let checkers = [
            checker("plain"), checker("onActor"), checker("async"), checker("onQueue"), checker("newest(8) on a queue"),
        ]
        return [
            (checkers[0], state.listen { [checker = checkers[0]] in checker.note($0) }, false),
            (
                checkers[1],
                state.listen(desk) { [checker = checkers[1]] (_: isolated Desk, message) in checker.note(message) },
                false
            ),
            (
                checkers[2],
                state.listen { [checker = checkers[2]] (message: Message) async in await checker.noteAndSuspend(message)
                }, false
            ),
            (checkers[3], state.listen(on: .global()) { [checker = checkers[3]] in checker.note($0) }, false),
            (
                checkers[4],
                state.listen(on: .global(), buffering: .newest(8)) { [checker = checkers[4]] in checker.note($0) }, true
            ),
        ]
    }

    private func changeAndChurn(_ state: StateChannel<Message>, _ desk: Desk, _ seed: UInt64) async -> [Listening] {
        let ended = Tally()
        let passing = Collected<(Checker, ListenerToken, isBounded: Bool)>()
        await onThreads(posters + 1) { [messagesEach, posters] index in
            guard index == posters else {
                for _ in 0..<messagesEach { state.update { $0.number += 1 } }
                ended.add()
                return
            }
            var random = SeededGenerator(seed: Int(truncatingIfNeeded: seed))
            while ended.value < posters, passing.count < 5_000 {
                let kind = Int.random(in: 0..<3, using: &random)
                let name = kind == 0 ? "state, passing plain listener" : "state, passing listener"
                let checker = Checker(name, isSerial: true, posters: 1)
                let token =
                    switch kind {
                    case 0: state.listen { checker.note($0) }
                    case 1: state.listen(desk) { (_: isolated Desk, message) in checker.note(message) }
                    default: state.listen { (message: Message) async in await checker.noteAndSuspend(message) }
                    }
                for _ in 0..<Int.random(in: 0..<50, using: &random) { sched_yield() }
                token.cancel()
                passing.add((checker, token, false))
            }
        }
        return passing.all
    }
}
