import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Sources made of other sources: posts, patterns, and those that others write.
struct ListenableTests {
    @Test func aWrapperKeepsThePlaceBufferingAndSiteOfWhatItForwards() {
        let channel = Channel<Int>(onFault: { _ in })
        let texts = Texts(source: Texts(source: channel))
        let heard = Recorder<String>()
        let messages = texts.messages(buffering: .oldest(1))
        let normal = channel.listen { heard.record("second \($0)") }
        let high = texts.listen(priority: .high) { heard.record("first \($0)") }
        #expect(high.description.contains("ListenableTests.swift:\(#line - 1)"))
        for message in 1...2 { #expect(channel.post(message) == 3) }
        #expect(heard.all == ["first 1", "second 1", "first 2", "second 2"])
        #expect(messages.droppedCount == 1 && messages.waitingCount == 1)
        withExtendedLifetime((normal, high)) {}
    }

    /// A transform runs where the listener runs.
    @Test func aTransformRunsOnTheIsolationOfTheListener() async {
        struct OnMain: Listenable {
            let source: Channel<Int>
            func register(_ listener: consuming Listener<Int>, isolation: isolated (any Actor)?) -> ListenerToken {
                let adapted = listener.adapted { (message: Int) in
                    MainActor.assertIsolated()
                    return -message
                }
                return source.register(adapted, isolation: isolation)
            }
        }
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let tokens = [
            OnMain(source: channel).listen { @MainActor message in heard.record(message) },
            OnMain(source: channel).listen { @MainActor (message: Int) async in heard.record(message) },
        ]
        await onThreads(1) { _ in channel.post(1) }
        await channel.postAndWait(2)
        #expect(heard.all.sorted() == [-2, -2, -1, -1])
        withExtendedLifetime(tokens) {}
    }

    @Test func aStatesWrapperHearsTheCurrentValueItsReaderTheNewest() async {
        let state = StateChannel(1)
        let texts = Texts(source: state)
        let values = texts.messages()
        let heard = Recorder(of: texts)
        #expect(heard.all == ["1"])
        state.set(2)
        #expect(heard.all == ["1", "2"])
        var iterator = values.makeAsyncIterator()
        #expect(await iterator.next() == "2")
        #expect(values.droppedCount == 1)
        #expect(await texts.first() == "2")
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aWrapperThatForwardsNoSequencesListenerTrapsAndIsNamed() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            struct Deaf: Listenable {
                let source: Channel<Int>
                func register(_ listener: consuming Listener<Int>, isolation: isolated (any Actor)?) -> ListenerToken {
                    source.listen { _ in }
                }
            }
            _ = Deaf(source: Channel()).messages()
        }
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(
            text.contains("Deaf.register(_:isolation:) did not forward the listener it was given: pass"),
            "\(text)"
        )
    }
    #endif

    // MARK: Sequences

    @Test func aSequenceThatGoesStopsListeningThoughItsSourceKeepsTheToken() {
        struct Keeping: Listenable {
            let source = Channel<Int>()
            let tokens = Recorder<ListenerToken>()
            func register(_ listener: consuming Listener<Int>, isolation: isolated (any Actor)?) -> ListenerToken {
                tokens.record(source.register(listener, isolation: isolation))
                return tokens.all[0]
            }
        }
        let keeping = Keeping()
        do {
            let messages = keeping.messages()
            #expect(keeping.source.post(1) == 1 && messages.waitingCount == 1)
        }
        #expect(keeping.source.isEmpty && keeping.tokens.all[0].discardedCount == 1)
    }

    /// Also where a reader has taken what waits into its hands already.
    @Test(arguments: [0, 1, 2], [false, true])
    func anAdaptedSequenceOfAGoneChannelYieldsWhatWaitsThenEnds(read: Int, isBounded: Bool) async {
        let living = Tally()
        do {
            var channel: Channel<Witness>? = Channel()
            let posts = channel!.posts.messages(buffering: isBounded ? .newest(9) : .automatic)
            for number in 0..<3 { channel!.post(Witness(living, number), from: channel) }
            var iterator = posts.makeAsyncIterator()
            for number in 0..<read { #expect(await iterator.next()?.message.number == number) }
            weak let watched = channel
            channel = nil
            // What waits holds its sender.
            #expect((watched == nil) == false)
            for number in read..<3 { #expect(await iterator.next()?.message.number == number) }
            #expect(watched == nil)
            #expect(await iterator.next() == nil)
        }
        #expect(living.value == 0)
    }

    /// The channel goes while a reader makes an element of the last message that waited.
    @Test func aChannelMayGoWhileAnAdaptedSequenceIsRead() async {
        for _ in 0..<300 {
            let channel = Slot(Channel<Int>())
            let posts = channel.value!.posts.messages()
            let reading = Task {
                var sum = 0
                for await post in posts { sum += post.message }
                return sum
            }
            await onThreads(1) { _ in
                for number in 1...4 { channel.value?.post(number) }
                channel.value = nil
            }
            #expect(await reading.value == 10)
        }
    }
}

/// The messages of a source as text.
private struct Texts<Source: Listenable>: Listenable {
    let source: Source

    func register(_ listener: consuming Listener<String>, isolation: isolated (any Actor)?) -> ListenerToken {
        source.register(listener.adapted { (message: Source.Message) in "\(message)" }, isolation: isolation)
    }
}
