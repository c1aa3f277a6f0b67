import Channels
import ChannelsTesting
import Testing

/// `messages()` and `next`.
struct SequenceTests {
    @Test func twoIteratorsShareOneBufferAndTwoSequencesDoNot() async {
        let channel = Channel<Int>()
        let shared = channel.messages()
        let own = channel.messages()
        for message in 1...4 { #expect(channel.post(message) == 2) }
        var first = shared.makeAsyncIterator()
        var second = shared.makeAsyncIterator()
        #expect(await [first.next(), second.next(), first.next(), second.next()] == [1, 2, 3, 4])
        var other = own.makeAsyncIterator()
        #expect(await other.next() == 1)
    }

    @Test func severalReadersGetEachMessageExactlyOnce() async {
        let total = 2_000
        let seen = Recorder<Int>()
        let channel = Slot(Channel<Int>())
        let messages = channel.value!.messages()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for await message in messages { seen.record(message) } }
            }
            group.addTask {
                await onThreads(2) { index in
                    for number in 0..<(total / 2) { channel.value?.post(index * total / 2 + number) }
                }
                channel.value = nil
            }
        }
        #expect(seen.all.sorted() == Array(0..<total))
    }

    @Test func neitherASequenceNorNextKeepsTheChannelAlive() async {
        weak var watched: Channel<Int>?
        var channel: Channel<Int>? = Channel()
        watched = channel
        let messages = channel!.messages()
        async let ended = {
            for await _ in messages {}
            return true
        }()
        channel = nil
        #expect(watched == nil)
        #expect(await ended)
    }

    /// Readers are told apart: the one that was cancelled ends, whichever waited first.
    @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
    @Test(arguments: [0, 1]) func theReaderThatWasCancelledIsTheOneThatEnds(index: Int) async {
        let channel = Channel<Int>()
        let messages = channel.messages()
        // An immediate task runs until it waits.
        let readers = (0..<2).map { _ in
            Task.immediate {
                var iterator = messages.makeAsyncIterator()
                return await iterator.next()
            }
        }
        readers[index].cancel()
        #expect(await readers[index].value == nil)
        channel.post(7)
        #expect(await readers[1 - index].value == 7)
    }

    /// Both wait, two messages come, and each reader stops after one.
    @MainActor @Test
    func eachOfTwoMessagesWakesAReaderAlthoughTheFirstReaderStops() async throws {
        let channel = Channel<Int>()
        let messages = channel.messages()
        let read = Recorder<Int>()
        let readers = (0..<2).map { _ in
            Task { @MainActor in
                for await message in messages {
                    read.record(message)
                    break
                }
            }
        }
        // Until both wait: they run on the actor of the test.
        for _ in 0..<20 { await Task.yield() }
        channel.post(1)
        channel.post(2)
        let found = try? await read.next(2, timeout: .seconds(10))
        #expect(found == [1, 2], "read: \(read.all), in the buffer: \(messages.waitingCount)")
        for reader in readers {
            reader.cancel()
            await reader.value
        }
    }
}
