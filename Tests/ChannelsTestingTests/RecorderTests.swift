import Channels
import ChannelsTesting
import Testing

@Suite(.hangLimit)
struct RecorderTests {
    @Test func aRecorderNotesPostsBeforeTheyReturnAndEndsWithItsSource() {
        let channel = Channel<Int>()
        do {
            let recorder = Recorder(of: channel)
            for message in 1...2 { #expect(channel.post(message) == 1) }
            #expect(recorder.takeAll() == [1, 2])
            channel.post(3)
            #expect(recorder.all == [3] && recorder.takeAll() == [3] && recorder.count == 0)
        }
        #expect(channel.isEmpty)
    }

    @Test func aRecorderOfAStateHasTheCurrentValueFirst() {
        let state = StateChannel(1)
        let recorder = Recorder(of: state)
        state.set(2)
        #expect(recorder.all == [1, 2])
    }

    @Test func aRecorderRecordsNamedChannelsPatternsAndPosts() async {
        let board = Switchboard()
        let name = ChannelName<Int>("shop.sold")
        let named = Recorder(of: board[name])
        let matching = Recorder(of: board[matching: "shop.*"])
        let posts = Recorder(of: board[name].posts)
        let owner = Owner()
        board[name].post(3, from: owner)
        #expect(named.all == [3] && matching.count == 1)
        #expect(posts.all.first?.sender === owner)
    }

    @Test func nextReturnsWhatHasArrivedAndGoesOnWhereItEnded() async throws {
        let recorder = Recorder<Int>()
        for element in 1...5 { recorder.record(element) }
        #expect(try await recorder.next(2, timeout: .zero) == [1, 2])
        #expect(try await recorder.next(timeout: .zero) == 3)
        #expect(try await recorder.next(2, timeout: .zero) == [4, 5])
        #expect(recorder.all == [1, 2, 3, 4, 5])
    }

    @Test func nextWaitsForWhatArrivesLater() async throws {
        let sold = Channel<Sale>()
        let recorder = Recorder<Int>()
        let kitchen = Kitchen(sold, recorder)
        async let cooked = recorder.next(3, timeout: generous)
        for total in 1...3 { sold.post(Sale(total: total)) }
        #expect(try await cooked == [1, 2, 3])
        withExtendedLifetime(kitchen) {}
    }

    @Test func nextThatFailsListsWhatArrivedAndWhereItWasAsked() async {
        let recorder = Recorder<Sale>()
        recorder.record(Sale(total: 1))
        _ = try? await recorder.next(timeout: .zero)
        recorder.record(Sale(total: 2))
        let failed = await failure { _ = try await recorder.next(3, timeout: .milliseconds(5)) }
        let line: UInt = #line - 1
        #expect(failed?.code == .missingMessages)
        #expect(failed?.site == CallSite(fileID: #fileID, line: line))
        #expect(failed?.details == ["Sale(total: 2)"])
        #expect(
            failed?.description == """
                ChannelsTestingTests/RecorderTests.swift:\(line): 3 messages were expected within 0.005 seconds, \
                1 arrived, after 1 that had been read:
                  [0] Sale(total: 2)
                """
        )
    }

    @Test func aFailureWithoutMessagesSaysThatNoneArrived() async {
        let failed = await failure { _ = try await Recorder<Int>().next(1, timeout: .zero) }
        #expect(failed?.description.hasSuffix("1 message was expected within 0.0 seconds, none arrived") == true)
    }

    @Test func aFailureListsFiftyMessagesAndCountsTheOthers() async {
        let recorder = Recorder<Int>()
        for element in 1...60 { recorder.record(element) }
        let failed = await failure { _ = try await recorder.next(61, timeout: .zero) }
        #expect(failed?.details.count == 60)
        #expect(failed?.description.hasSuffix("[49] 50\n  … and 10 more") == true)
    }

    @Test func nextThatFailsLeavesWhatArrivedToTheNext() async throws {
        let recorder = Recorder<Int>()
        recorder.record(1)
        #expect(await failure { _ = try await recorder.next(2, timeout: .zero) } != nil)
        recorder.record(2)
        #expect(try await recorder.next(2, timeout: .zero) == [1, 2])
    }

    @Test func nextThrowsACancellationErrorWhenItsTaskIsCancelled() async {
        let recorder = Recorder<Int>()
        let task = Task { try await recorder.next(1, timeout: generous) }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        recorder.record(1)
        #expect(recorder.all == [1])
    }

    @Test func severalReadersAreServedInTheirOrderAndGetEachElementOnce() async throws {
        let recorder = Recorder<Int>()
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 1...20 { group.addTask { try await recorder.next(3, timeout: generous) } }
            for element in 1...60 { recorder.record(element) }
            var read: [Int] = []
            for try await elements in group {
                #expect(elements == Array(elements[0]..<elements[0] + 3))
                read += elements
            }
            #expect(read.sorted() == Array(1...60))
        }
    }

    @Test func aReaderThatGivesUpLetsTheOneBehindItGoOn() async throws {
        let recorder = Recorder<Int>()
        let first = Task { try await recorder.next(5, timeout: generous) }
        let second = Task { try await recorder.next(1, timeout: generous) }
        recorder.record(1)
        first.cancel()
        // Whichever of the two came first.
        #expect(try await second.value == [1])
        await #expect(throws: CancellationError.self) { _ = try await first.value }
    }

    @Test func conditionSatisfiedForAMomentIsSeenAndMayUseTheRecorder() async {
        let recorder = Recorder<Int>()
        let asked = Recorder<Int>()
        let reader = Task {
            await recorder.wait { elements in
                asked.record(elements.count)
                return elements == [1, 2, 3] && recorder.count >= 3
            }
        }
        _ = await asked.first(1)
        for number in 1...100 { recorder.record(number) }
        #expect(await reader.value == [1, 2, 3])
        #expect(asked.all == [0, 1, 2, 3])
    }

    @Test func aConditionLooksAtWhatComesAfterTheRecorderWasEmptied() async {
        let recorder = Recorder<Int>()
        let asked = Recorder<[Int]>()
        recorder.record(1)
        let reader = Task {
            await recorder.wait { elements in
                asked.record(elements)
                return elements == [2]
            }
        }
        _ = await asked.first(1)
        #expect(recorder.takeAll() == [1])
        recorder.record(2)
        #expect(await reader.value == [2])
    }

    @Test func takeAllAlsoTakesWhatNextHasNotRead() async {
        let recorder = Recorder<Int>()
        for element in 1...3 { recorder.record(element) }
        _ = try? await recorder.next(timeout: .zero)
        #expect(recorder.takeAll() == [1, 2, 3])
        #expect(await failure { _ = try await recorder.next(timeout: .zero) }?.details == [])
    }
}
