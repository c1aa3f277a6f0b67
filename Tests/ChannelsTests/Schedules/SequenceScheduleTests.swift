import Channels
import ChannelsTesting
import Testing

/// Sequences and `next`, in many orders of turns.
struct SequenceScheduleTests {
    /// Two posters, two readers of one sequence, one of which is cancelled at some point.
    @Test func noMessageIsLostBetweenReadersOneOfWhichIsCancelled() async {
        await onSchedules { schedule in
            var channel: Channel<Note>? = Channel()
            let messages = channel!.messages()
            let heard = [Recorder<Note>(), Recorder<Note>()]
            let readers = heard.map { heard in
                Task { for await message in messages { heard.record(message) } }
            }
            await withTaskGroup { group in
                for poster in 0..<2 {
                    group.addTask { [channel = channel!] in _ = await post(4, as: poster, on: channel, schedule) }
                }
                group.addTask { await schedule.cancel(readers[0]) }
            }
            // Nothing but a message wakes the other reader.
            for _ in 0..<500 where heard[0].count + heard[1].count < 8 { await schedule.turn() }
            let count = heard[0].count + heard[1].count
            schedule.check(count == 8, "\(count) of 8 messages were heard while the channel lived")
            channel = nil
            for reader in readers { await reader.value }
            for heard in heard { schedule.check(isInOrder(heard.all), "a reader heard \(heard.all)") }
            let all = heard.flatMap(\.all)
            schedule.check(all.count == 8 && Set(all).count == 8, "the readers heard \(heard.map(\.all)) together")
        }
    }

    @Test func whatAFullBufferDropsIsCountedAndNothingElseIsLost() async {
        await onSchedules { schedule in
            let limit = schedule.number(1...3)
            let isOldest = schedule.chance(2)
            var channel: Channel<Note>? = Channel { _ in }
            let messages = channel!.messages(buffering: isOldest ? .oldest(limit) : .newest(limit))
            let heard = Recorder<Note>()
            let reader = Task { for await message in messages { heard.record(message) } }
            await post(8, as: 0, on: channel!, schedule)
            channel = nil
            await reader.value
            schedule.check(isInOrder(heard.all), "the reader heard \(heard.all)")
            let read = heard.count
            schedule.check(
                read + messages.droppedCount == 8,
                "read \(read) + dropped \(messages.droppedCount) is not 8"
            )
        }
    }

    /// Every way to end: the channel goes, the task is cancelled, or the sequence and its channel live on.
    @Test func aReaderCancelledEndsAndLeavesTheRestToTheNext() async {
        await onSchedules { schedule in
            var channel: Channel<Note>? = Channel()
            let messages = channel!.messages()
            let heard = Recorder<Note>()
            let first = Task { for await message in messages { heard.record(message) } }
            async let cancelled: Void = schedule.cancel(first, within: 20)
            await post(6, as: 0, on: channel!, schedule)
            await cancelled
            await first.value
            channel = nil
            for await message in messages { heard.record(message) }
            schedule.check(heard.all.map(\.number) == Array(0..<6), "the readers heard \(heard.all)")
        }
    }

    @Test func nextFindsTheFirstMessageThatSatisfiesOrEndsWithTheTask() async {
        await onSchedules { schedule in
            let channel = Channel<Note>()
            let posted = Recorder<Int>()
            let waiting = Task { await channel.first { $0.number >= 3 } }
            async let cancelled: Void = schedule.cancel(waiting, oneTimeIn: 2, within: 30)
            while channel.isEmpty, !waiting.isCancelled { await schedule.turn() }
            for number in 0..<6 {
                channel.post(Note(poster: 0, number: number, schedule))
                posted.record(number)
                await schedule.turns()
            }
            await cancelled
            let found = await waiting.value?.number
            schedule.check(found == 3 || (found == nil && waiting.isCancelled), "found \(found as Int?)")
            schedule.check(channel.isEmpty, "it still listens")
        }
    }

    @Test func nextEndsWhenTheChannelGoes() async {
        await onSchedules { schedule in
            var channel: Channel<Note>? = Channel()
            let waiting = Task { [weak channel] in await channel?.first { $0.number > 9 } }
            await schedule.turns(upTo: 6)
            channel?.post(Note(poster: 0, number: 1, schedule))
            await schedule.turns(upTo: 6)
            channel = nil
            let found = await waiting.value
            schedule.check(found == nil, "found \(found as Note?)")
        }
    }
}

/// A message that is counted while it lives.
struct Note: Sendable, Hashable, CustomStringConvertible {
    let poster: Int
    let number: Int
    private let witness: Witness

    init(poster: Int, number: Int, _ schedule: Schedule) {
        self.poster = poster
        self.number = number
        witness = Witness(schedule.living)
    }

    static func == (left: Note, right: Note) -> Bool { left.witness === right.witness }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(witness)) }

    var description: String { "\(poster).\(number)" }
}

/// Posts with turns in between. Returns how many listeners were reached in all.
@discardableResult
func post(_ count: Int, as poster: Int, on channel: Channel<Note>, _ schedule: Schedule) async -> Int {
    var reached = 0
    for number in 0..<count {
        reached += channel.post(Note(poster: poster, number: number, schedule))
        await schedule.turns()
    }
    return reached
}

/// Whether each poster's messages come in order and once.
func isInOrder(_ notes: [Note]) -> Bool {
    Dictionary(grouping: notes, by: \.poster).values.allSatisfy { notes in
        zip(notes, notes.dropFirst()).allSatisfy { $0.number < $1.number }
    }
}
