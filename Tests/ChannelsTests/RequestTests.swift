import Channels
import ChannelsTesting
import Testing

/// The settled details of requests.
struct RequestTests {
    @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
    @Test func cancelAndDrainOfAResponderWaitsForTheRequestsHandedToIt() async throws {
        let channel = RequestChannel<Int, Int>()
        let events = Recorder<String>()
        let (entered, gate) = (Gate(), Gate())
        let token = channel.respond { request in
            events.record("asked")
            entered.open()
            await gate.wait()
            events.record("answers")
            return request
        }
        let asking = Task { try await channel.ask(7) }
        await entered.wait()
        // An immediate task runs until it waits.
        let draining = Task.immediate {
            await token.cancelAndDrain()
            events.record("drained")
        }
        #expect(events.all == ["asked"])
        gate.open()
        await draining.value
        #expect(events.all == ["asked", "answers", "drained"])
        #expect(try await asking.value == 7)
        await #expect(throws: ChannelError.self) { try await channel.ask(8) }
    }

    @Test func aResponderMayDrainItself() async throws {
        let channel = RequestChannel<Int, Int>()
        let own = Slot<ListenerToken>()
        own.value = channel.respond { request in
            await own.value?.cancelAndDrain()
            return request
        }
        #expect(try await channel.ask(7) == 7)
        #expect(own.value?.isActive == false)
    }

    @Test func theResponderOfTheHighestPriorityAnswersAndItsErrorIsTheAskers() async throws {
        let channel = RequestChannel<Int, String>()
        let low = channel.respond { "low \($0)" }
        let high = channel.respond(priority: .high) { _ in throw Trouble() }
        await #expect(throws: Trouble.self) { try await channel.ask(1) }
        high.cancel()
        #expect(try await channel.ask(2) == "low 2")
        low.cancel()
        let error = await #expect(throws: ChannelError.self) { try await channel.ask(3) }
        #expect(error?.code == .noResponder)
    }

    @Test func askAllRunsConcurrentlyAndAnswersInPriorityOrder() async {
        let channel = RequestChannel<Int, Int>()
        let gate = Gate()
        let first = channel.respond(priority: .high) { number in
            await gate.wait()
            return number
        }
        let second = channel.respond { _ in throw Trouble() }
        let third = channel.respond(priority: .low) { number in
            gate.open()
            return -number
        }
        let answers = await channel.askAll(7)
        #expect(answers.map { try? $0.get() } == [7, nil, -7])
        withExtendedLifetime((first, second, third)) {}
    }

    @Test func callsAreNotSerialisedAndNestedAsksAreFine() async throws {
        let channel = RequestChannel<Int, Int>()
        let responder = channel.respond { number in number == 0 ? 0 : try await channel.ask(number - 1) + 1 }
        #expect(try await channel.ask(50) == 50)
        withExtendedLifetime(responder) {}
    }

    @Test func askThrowsAtOnceWhenItsTaskIsCancelledWhetherOrNotTheResponderListens() async {
        let channel = RequestChannel<Int, Int>()
        let gate = Gate()
        let entered = Tally()
        let responder = channel.respond { number in
            entered.add()
            await gate.wait()
            return number
        }
        let asking = Task { try await channel.ask(1) }
        await entered.wait(until: 1)
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        gate.open()
        withExtendedLifetime(responder) {}
    }

    @Test func aResponderWhoseOwnerHasGoneDoesNotAnswer() async throws {
        let channel = RequestChannel<Int, Int>()
        var owner: Owner? = Owner()
        channel.respond(owner!, priority: .high) { _, number in number }
        let other = channel.respond { -$0 }
        #expect(try await channel.ask(1) == 1)
        owner = nil
        #expect(try await channel.ask(1) == -1)
        #expect(channel.responderCount == 1)
        withExtendedLifetime((owner, other)) {}
    }

    @Test func eachAskCountsAsAPost() async throws {
        let board = Switchboard(diagnostics: .counts)
        let channel = board.requests(RequestName<Int, Int>("number.double"))
        let token = channel.respond { 2 * $0 }
        #expect(try await channel.ask(1) == 2)
        #expect(board.snapshot().channels.map(\.posts) == [1])
        #expect(try await channel.askAll(2).map { try $0.get() } == [4])
        #expect(board.snapshot().channels.map(\.posts) == [2])
        withExtendedLifetime(token) {}
    }

    @Test func aResponderIsToldThatItsAskerWasCancelled() async {
        let channel = RequestChannel<Int, Int>()
        let (began, cancelled, ended) = (Gate(), Gate(), Gate())
        let token = channel.respond { number in
            began.open()
            await withTaskCancellationHandler {
                await cancelled.wait()
            } onCancel: {
                cancelled.open()
            }
            ended.open()
            return number
        }
        let asker = Task { try await channel.ask(1) }
        await began.wait()
        asker.cancel()
        await #expect(throws: CancellationError.self) { try await asker.value }
        await ended.wait()
        withExtendedLifetime(token) {}
    }
}
