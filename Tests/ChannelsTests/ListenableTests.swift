import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Sources made of other sources: posts, patterns, and those that others write.
struct ListenableTests {
    @Test func aListenerOfEveryKindHearsWhatAWrapperMakesOfTheMessages() async {
        let faults = Recorder<Fault>()
        let channel = Channel<Int> { faults.record($0) }
        let texts = Texts(source: channel)
        let heard = (0..<12).map { _ in Recorder<String>() }
        let owner = Owner()
        let clerk = Clerk()
        var tokens = [
            texts.listen(once: true) { heard[0].record($0) },
            texts.listen { heard[1].record($0) },
            texts.listen { (text: String) throws in try heard[2].recordAndThrow(text) },
            texts.listen { (text: String) async in heard[3].record(text) },
            texts.listen { @MainActor text in heard[4].record(text) },
            texts.listen(on: .global()) { heard[5].record($0) },
        ]
        tokens += [
            texts.listen(owner) { _, text in heard[6].record(text) },
            texts.listen(owner) { (_, text: String) throws in try heard[7].recordAndThrow(text) },
            texts.listen(owner) { (_, text: String) async throws in try heard[8].recordAndThrow(text) },
            texts.listen(owner, on: .global()) { _, text in heard[9].record(text) },
        ]
        texts.listen(clerk) { (clerk: isolated Clerk, text: String) in
            clerk.assertIsolated()
            heard[10].record(text)
        }
        texts.listen(clerk) { (clerk: isolated Clerk, text: String) async in
            clerk.assertIsolated()
            heard[11].record(text)
        }
        let sequence = texts.messages()
        async let found = texts.next { $0 == "2" }
        while channel.listenerCount < heard.count + 2 { await Task.yield() }
        await channel.postAndWait(1)
        #expect(await channel.postAndWait(2).failures.count == 3)
        for (kind, heard) in heard.enumerated() { #expect(heard.all == (kind == 0 ? ["1"] : ["1", "2"]), "\(kind)") }
        #expect(faults.count == 6)
        #expect(await found == "2")
        var iterator = sequence.makeAsyncIterator()
        #expect(await [iterator.next(), iterator.next()] == ["1", "2"])
        withExtendedLifetime((tokens, owner, clerk)) {}
    }

    @Test func aWrapperKeepsPlaceBufferingAndSiteAndCountsAsTheListenersItForwards() {
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

    @Test func aWrapperOfAStateHearsTheCurrentValueFirstAndItsReaderTheNewest() async {
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
        #expect(await texts.next() == "2")
    }

    @Test func aWrapperThatDoesNotForwardASequencesListenerTrapsAndIsNamed() async throws {
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
        #expect(text.contains("Deaf.register(_:isolation:) did not hand on the listener of a sequence"), "\(text)")
    }

    @Test func anInterceptorOfAWrapperThatAdaptsTrapsAndNamesBothTypes() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Texts(source: Channel<Int>()).intercept { _ in .stop }
        }
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("an interceptor of String cannot be adapted to Int"), "\(text)")
    }

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

    @Test func aSequenceOfPostsSaysWhoPostedOnWhichChannelAndDropsAsItsBufferSays() async {
        let board = Switchboard(onFault: { _ in })
        let sender = Owner()
        let name: ChannelName<Int> = "seq.a"
        let all = board[name].posts.messages()
        let newest = board[name].posts.messages(buffering: .newest(1))
        let oldest = board[name].posts.messages(buffering: .oldest(2))
        board[name].post(0)
        for number in 1...3 { #expect(board[name].post(number, from: sender) == 3) }
        #expect([all, newest, oldest].map(\.waitingCount) == [4, 1, 2])
        #expect([all, newest, oldest].map(\.droppedCount) == [0, 3, 2])
        var iterator = all.makeAsyncIterator()
        for number in 0...3 {
            let post = await iterator.next()
            #expect(post?.message == number && post?.channelName == "seq.a" && post?.origin == .local)
            #expect(post?.sender === (number == 0 ? nil : sender))
        }
        var last = newest.makeAsyncIterator()
        #expect(await last.next()?.message == 3)
        var first = oldest.makeAsyncIterator()
        #expect(await [first.next()?.message, first.next()?.message] == [0, 1])
    }

    @Test func aSequenceOfAPatternReadsEveryMatchingChannelAndEndsWithTheSwitchboard() async {
        var board: Switchboard? = Switchboard()
        let sender = Owner()
        let messages = board![matching: "shop.*"].messages()
        let posts = board![matching: "shop.*"].posts.messages(buffering: .newest(1))
        let next = Task { [matching = board![matching: ">"]] in await matching.next { $0.message as? Int == 2 } }
        while board!["shop.a"].post(0) < 3 { await Task.yield() }
        let before = messages.waitingCount
        board!["other"].post(-1)
        board!["shop.b"].post("text", from: sender)
        board!.state("shop.c", initial: 1).set(2)
        #expect(messages.waitingCount == before + 2 && posts.waitingCount == 1)
        #expect(await next.value?.channelName == "shop.c")
        #expect(board!.snapshot().channels.map(\.name) == ["shop.c"], "a pattern keeps no channel of messages")
        var iterator = messages.makeAsyncIterator()
        for _ in 0..<before { #expect(await iterator.next()?.channelName == "shop.a") }
        board = nil
        let text = await iterator.next()
        #expect(text?.message as? String == "text" && text?.channelName == "shop.b" && text?.sender === sender)
        #expect(await iterator.next()?.message as? Int == 2)
        #expect(await iterator.next() == nil)
        var last = posts.makeAsyncIterator()
        let post = await last.next()
        #expect(post?.message.message as? Int == 2 && post?.message.channelName == "shop.c")
        #expect(await last.next() == nil)
    }

    /// Also where a reader has taken what waits into its hands already.
    @Test(arguments: [0, 1, 2], [false, true])
    func anAdaptedSequenceYieldsWhatWaitsWhenItsChannelHasGoneThenEnds(read: Int, isBounded: Bool) async {
        let living = Tally()
        do {
            var channel: Channel<Witness>? = Channel()
            let posts = channel!.posts.messages(buffering: isBounded ? .newest(9) : nil)
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
private struct Texts<Source: Listenable>: Listenable, Interceptable {
    let source: Source

    func register(_ listener: consuming Listener<String>, isolation: isolated (any Actor)?) -> ListenerToken {
        source.register(listener.adapted { (message: Source.Message) in "\(message)" }, isolation: isolation)
    }
}

extension Recorder where Element == String {
    fileprivate func recordAndThrow(_ text: String) throws {
        record(text)
        throw Trouble(text: text)
    }
}
