import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// The settled details of requests.
struct RequestTests {
    @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
    @Test func cancelAndWaitOfAResponderWaitsForItsRequests() async throws {
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
            await token.cancelAndWait()
            events.record("drained")
        }
        #expect(events.all == ["asked"])
        gate.open()
        await draining.value
        #expect(events.all == ["asked", "answers", "drained"])
        #expect(try await asking.value == 7)
        await #expect(throws: ChannelError.self) { try await channel.ask(8) }
    }

    @available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *)
    @Test func cancelAndWaitOfAResponderReturnsAfterItsOwnerIsReleased() async {
        let channel = RequestChannel<Int, Int>()
        let events = Recorder<String>()
        let (entered, gate, returned) = (Gate(), Gate(), DispatchSemaphore(value: 0))
        var owner: Owner? = Owner {
            // A caller that went on too early would be first.
            _ = returned.wait(timeout: .now() + .milliseconds(50))
            events.record("released")
        }
        let token = channel.respond(owner!) { _, request in
            entered.open()
            await gate.wait()
            return request
        }
        let asking = Task { try await channel.ask(1) }
        await entered.wait()
        owner = nil
        // An immediate task runs until it waits.
        let ending = Task.immediate {
            await token.cancelAndWait()
            events.record("returned")
            returned.signal()
        }
        gate.open()
        await ending.value
        _ = await asking.result
        #expect(events.all == ["released", "returned"])
    }

    @Test func aResponderWhoseOwnerHasGoneDoesNotAnswerAgain() async throws {
        let channel = RequestChannel<Int, Int>()
        for round in 0..<2_000 {
            var owner: Owner? = Owner()
            channel.respond(owner!) { _, request in request }
            #expect(try await channel.ask(round) == round)
            owner = nil
            await #expect(throws: ChannelError.self, "round \(round)") { try await channel.ask(round) }
        }
    }

    @Test func aResponderMayDrainItself() async throws {
        let channel = RequestChannel<Int, Int>()
        let own = Slot<ListenerToken>()
        own.value = channel.respond { request in
            await own.value?.cancelAndWait()
            return request
        }
        #expect(try await channel.ask(7) == 7)
        #expect(own.value?.isActive == false)
    }

    @Test func theResponderOfHighestPriorityAnswersAndItsErrorIsTheAskers() async throws {
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

    @Test(arguments: [false, true])
    func aResponderIsToldThatItsAskerWaitsNoLonger(isTimeout: Bool) async {
        let channel = RequestChannel<Witness, Witness>()
        let living = Tally()
        let (began, cancelled, ended) = (Gate(), Gate(), Gate())
        let token = channel.respond { request in
            began.open()
            await withTaskCancellationHandler {
                await cancelled.wait()
            } onCancel: {
                cancelled.open()
                // Whoever cancels is held, so that the responder has time to answer all the same.
                for _ in 0..<2_000 where !ended.isOpen { sched_yield() }
            }
            #expect(Task.isCancelled)
            ended.open()
            return request
        }
        let timeout = isTimeout ? Duration.milliseconds(1) : .seconds(3_600)
        let asker = Task { try await channel.ask(Witness(living), timeout: timeout).number }
        await began.wait()
        if !isTimeout { asker.cancel() }
        let result = await asker.result
        let error = #expect(throws: (any Error).self) { try result.get() }
        #expect(isTimeout ? (error as? ChannelError)?.code == .timedOut : error is CancellationError)
        await ended.wait()
        await token.cancelAndWait()
        await living.wait(untilAtMost: 0)
    }

    @Test(arguments: [nil, Duration.milliseconds(1), .nanoseconds(1)])
    func askThrowsAtOnceWhenCancelledOrItsTimeIsOver(timeout: Duration?) async {
        let channel = Switchboard().requests("shop.price" as RequestName<Witness, Int>)
        let living = Tally()
        let (gate, entered, ended) = (Gate(), Gate(), Gate())
        let token = channel.respond { request in
            entered.open()
            await gate.wait()
            ended.open()
            return request.number
        }
        let asking = Task { try await channel.ask(Witness(living), timeout: timeout) }
        await entered.wait()
        if timeout == nil { asking.cancel() }
        let error = await #expect(throws: (any Error).self) { try await asking.value }
        if let timeout {
            let error = error as? ChannelError
            #expect(error?.code == .timedOut && error?.name == "shop.price")
            #expect(
                error?.description == "'shop.price', a RequestChannel<Witness, Int> gave no answer within \(timeout)"
            )
        } else {
            #expect(error is CancellationError)
        }
        #expect(!ended.isOpen, "the responder goes on, and nobody waits for it")
        gate.open()
        await token.cancelAndWait()
        await living.wait(untilAtMost: 0)
    }

    @Test func anAnswerInTimeLeavesNothingBehindAndNobodyWaitsWithoutResponder() async throws {
        let channel = RequestChannel<Int, Witness>()
        let living = Tally()
        do {
            let token = channel.respond { Witness(living, $0) }
            for number in 0..<100 {
                let answer = try await channel.ask(number, timeout: .seconds(3_600))
                #expect(answer.number == number)
            }
            await token.cancelAndWait()
        }
        await living.wait(untilAtMost: 0)
        let error = await #expect(throws: ChannelError.self) { try await channel.ask(1, timeout: .seconds(3_600)) }
        #expect(error?.code == .noResponder)
    }

    @Test func nestedAskAllIsBounded() async {
        let channel = RequestChannel<Int, Int>()
        let deepest = Tally()
        let token = channel.respond { number in
            deepest.add()
            return try await channel.askAll(number + 1, timeout: nil)[0].get()
        }
        let error = await #expect(throws: ChannelError.self) { try await channel.ask(0, timeout: nil) }
        #expect(error?.code == .recursionLimit)
        #expect(deepest.value == 1_024)
        withExtendedLifetime(token) {}
    }

    @Test func requestThatAsksThousandsAtOnceWhichAskAgainIsAnswered() async throws {
        let (wide, deep) = (RequestChannel<Int, Int>(), RequestChannel<Int, Int>())
        let tokens = [
            deep.respond { $0 > 0 ? try await deep.ask($0 - 1, timeout: nil) + 1 : 1 },
            wide.respond { count in
                try await withThrowingTaskGroup { group in
                    for _ in 0..<count { group.addTask { try await deep.ask(3, timeout: nil) } }
                    return try await group.reduce(0, +)
                }
            },
        ]
        #expect(try await wide.ask(5_000, timeout: nil) == 20_000)
        withExtendedLifetime(tokens) {}
    }

    @Test func tasksLeftBehindThatAskInTurnAreNoRecursion() async throws {
        let channel = RequestChannel<Int, Int>()
        let (ends, end) = AsyncStream<String>.makeStream()
        let token = channel.respond { number in
            if number == 3_000 {
                end.yield("reached")
                return number
            }
            // Asks before this call has ended, which does not wait for it.
            Task { do { _ = try await channel.ask(number + 1, timeout: nil) } catch { end.yield("\(error)") } }
            for _ in 0..<20 { await Task.yield() }
            return number
        }
        _ = try await channel.ask(0, timeout: nil)
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == "reached")
        withExtendedLifetime(token) {}
    }

    @Test func aTimeoutMayBeAsLongAsThereAre() async throws {
        let channel = RequestChannel<Int, Int>()
        let token = channel.respond { number in number }
        #expect(try await channel.ask(1, timeout: .seconds(Int64.max)) == 1)
        withExtendedLifetime(token) {}
    }
}
