import Channels
import Testing

extension ChannelName<Int> {
    fileprivate static var reading: Self { "forms.reading" }
}

struct SequenceFormTests {
    let channel = Channel<Int>(onFault: { _ in })

    @Test func forAwaitReadsWhatWasPostedSinceTheCall() async {
        let messages = channel.messages(buffering: .newest(64))
        #expect(channel.listenerCount == 1)
        for number in 1...5 { #expect(channel.post(number) == 1) }
        var heard: [Int] = []
        for await number in messages {
            heard.append(number)
            if number == 5 { break }
        }
        #expect(heard == [1, 2, 3, 4, 5])
    }

    @Test func everyBufferingPolicy() async {
        let all = channel.messages()
        let newest = channel.messages(buffering: .newest(2))
        let oldest = channel.messages(buffering: .oldest(2), priority: .high)
        let unbounded = channel.messages(buffering: .unbounded)
        for number in 1...4 { channel.post(number) }
        #expect(newest.droppedCount == 2)
        #expect(oldest.droppedCount == 2)
        #expect(all.waitingCount == 4)
        #expect(await read(2, of: newest) == [3, 4])
        #expect(await read(2, of: oldest) == [1, 2])
        #expect(await read(4, of: all) == [1, 2, 3, 4])
        #expect(await read(4, of: unbounded) == [1, 2, 3, 4])
    }

    private func read(_ count: Int, of messages: MessageSequence<Int>) async -> [Int] {
        var iterator = messages.makeAsyncIterator()
        var heard: [Int] = []
        for _ in 0..<count { if let number = await iterator.next() { heard.append(number) } }
        return heard
    }

    @Test func cancellingTheTaskEndsTheLoop() async {
        let messages = channel.messages()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var heard: [Int] = []
            for await number in messages {
                heard.append(number)
                begin.yield()
            }
            return heard
        }
        channel.post(1)
        for await _ in begun { break }
        task.cancel()
        #expect(await task.value == [1])
    }

    @Test func sequenceEndsWithItsChannelAfterWhatWaits() async {
        var channel: Channel<Int>? = Channel()
        let messages = channel!.messages()
        channel!.post(1)
        channel!.post(2)
        channel = nil
        var heard: [Int] = []
        for await number in messages { heard.append(number) }
        #expect(heard == [1, 2])
    }

    @Test @MainActor func mainActorObjectsIterate() async {
        let view = FormView()
        let messages = channel.messages()
        let task = Task {
            for await number in messages {
                view.hear("\(number)")
                if number == 2 { break }
            }
        }
        channel.post(1)
        channel.post(2)
        await task.value
        #expect(view.heard == ["1", "2"])
    }

    @Test func operatorsOfAsyncSequenceApply() async {
        let messages = channel.messages()
        for number in 1...6 { channel.post(number) }
        var heard: [String] = []
        for await text in messages.filter({ $0.isMultiple(of: 2) }).map({ "\($0)" }).prefix(3) { heard.append(text) }
        #expect(heard == ["2", "4", "6"])
    }

    // MARK: next

    /// Posts until the reader, whose registration nothing else reveals, has what it waits for.
    private func post(_ numbers: [Int], whileReading read: @escaping @Sendable (Channel<Int>) async -> Int?) async
        -> Int?
    {
        let task = Task { [channel] in await read(channel) }
        while channel.isEmpty { await Task.yield() }
        for number in numbers { channel.post(number) }
        return await task.value
    }

    @Test func nextReturnsTheNextMessage() async {
        #expect(await post([7, 8]) { await $0.next() } == 7)
        #expect(channel.isEmpty)
    }

    @Test func nextWhereReturnsTheFirstThatSatisfies() async {
        #expect(await post([1, 2, 5, 9]) { await $0.next(where: { $0 > 3 }) } == 5)
        #expect(await post([1, 2, 5, 9]) { await $0.next { $0 > 5 } } == 9)
    }

    @Test func nextOfACancelledTaskReturnsNil() async {
        let task = Task { [channel] in await channel.next() }
        while channel.isEmpty { await Task.yield() }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test func nextBelowTheMainActorPredicate() async {
        await nextOnTheMainActor()
    }

    @MainActor
    private func nextOnTheMainActor() async {
        let view = FormView()
        let task = Task {
            await channel.next(where: { number in
                view.hear("\(number)")
                return number == 2
            })
        }
        while channel.isEmpty { await Task.yield() }
        channel.post(1)
        channel.post(2)
        #expect(await task.value == 2)
        #expect(view.heard == ["1", "2"])
    }

    // MARK: names

    @Test func messagesOfANameKeepTheNameAndReadItsPosts() async {
        let board = Switchboard(onFault: { _ in })
        let messages = board.messages(of: .reading, buffering: .newest(2), priority: .high)
        for number in 1...3 { #expect(board.post(number, to: .reading) == 1) }
        #expect(messages.droppedCount == 1)
        #expect(await read(2, of: messages) == [2, 3])
        #expect(board.channel(.reading).listenerCount == 1)
        withExtendedLifetime(messages) {}
    }

    @Test func nextOfANameReturnsTheFirstThatSatisfies() async {
        let board = Switchboard(onFault: { _ in })
        for (wanted, found) in [(0, 1), (2, 3)] {
            let task = Task { await board.next(.reading, where: { $0 > wanted }) }
            while board.channel(.reading).isEmpty { await Task.yield() }
            for number in 1...4 { board.post(number, to: .reading) }
            #expect(await task.value == found)
        }
        #expect(board.channel(.reading).isEmpty)
    }

    @Test func nextOfANameIsNilForACancelledTask() async {
        let board = Switchboard(onFault: { _ in })
        let task = Task { await board.next(.reading) }
        while board.channel(.reading).isEmpty { await Task.yield() }
        task.cancel()
        #expect(await task.value == nil)
    }
}
