import Channels
import Testing

/// Requests, in many orders of turns, with cancellation at every point.
struct RequestScheduleTests {
    @Test func askAnswersOrThrowsCancellationWhereverItsTaskIsCancelled() async {
        await onSchedules { schedule in
            let channel = RequestChannel<Note, Int>()
            let responder = channel.respond { note in
                await schedule.turns(upTo: 5)
                return note.number
            }
            let asking = Task { try await channel.ask(Note(poster: 0, number: 7, schedule)) }
            await schedule.cancel(asking)
            switch await asking.result {
            case .success(let answer): schedule.check(answer == 7, "the answer was \(answer)")
            case .failure(let error): schedule.check(error is CancellationError, "\(error)")
            }
            withExtendedLifetime(responder) {}
        }
    }

    @Test func askIsAnsweredByAResponderThereOrSaysThereIsNone() async {
        await onSchedules { schedule in
            let channel = RequestChannel<Int, Int>()
            let high = channel.respond(priority: .high) { number in
                await schedule.turns()
                return number
            }
            let low = channel.respond { -$0 }
            let asking = (1...3).map { number in Task { try await channel.ask(number) } }
            await schedule.turns(upTo: 6)
            high.cancel()
            await schedule.turns()
            low.cancel()
            for (index, task) in asking.enumerated() {
                switch await task.result {
                case .success(let answer): schedule.check(abs(answer) == index + 1, "the answer was \(answer)")
                case .failure(let error): schedule.check((error as? ChannelError)?.code == .noResponder, "\(error)")
                }
            }
        }
    }

    @Test func askAllAnswersInTheOrderOfPriorityWhoeverIsReadyFirst() async {
        await onSchedules { schedule in
            let channel = RequestChannel<Note, Int>()
            let tokens = (0..<4).map { index in
                channel.respond(priority: ListenerPriority(-index)) { note in
                    await schedule.turns(upTo: 5)
                    if index == 2 { throw Trouble() }
                    return note.number + index
                }
            }
            let asking = Task { await channel.askAll(Note(poster: 0, number: 10, schedule)) }
            if schedule.chance(2) { await schedule.cancel(asking, within: 20) }
            let answers = await asking.value
            schedule.check(answers.count == 4, "\(answers.count) answers")
            for (index, answer) in answers.enumerated() {
                switch answer {
                case .success(let number): schedule.check(number == 10 + index, "answer \(index) was \(number)")
                case .failure(let error):
                    let isExpected =
                        (index == 2 && error is Trouble) || (asking.isCancelled && error is CancellationError)
                    schedule.check(isExpected, "answer \(index): \(error)")
                }
            }
            withExtendedLifetime(tokens) {}
        }
    }
}
