import Channels
import Dispatch
import Foundation
import Testing

/// Rule 10, and what becomes of faults.
struct FaultTests {
    @Test func aListenerThatThrowsDisturbsNobodyAndIsAFaultWithErrorChannelAndSite() async {
        let faults = Heard<Fault>()
        let board = Switchboard { faults.add($0) }
        let heard = Heard<String>()
        let owner = Owner()
        let first = board.listen(to: "faulty", priority: .high) { (_: Int) in heard.add("first") }
        let site = RegistrationSite(fileID: #fileID, line: #line + 1)
        let throwing = board.listen(to: "faulty") { (_: Int) throws in throw Trouble() }
        board.listen(owner, to: "faulty") { (_, _: Int) async throws in throw Trouble(text: "later") }
        let last = board.listen(to: "faulty", priority: .low) { (_: Int) in heard.add("last") }
        let report = await board.postAndWait(1, to: "faulty")
        #expect(heard.all == ["first", "last"])
        #expect(report.reached == 4 && report.completed == 2)
        #expect(Set(report.failures.map(\.ownerType)) == [nil, "Owner"])
        #expect(faults.all.map(\.code) == [.listenerThrew, .listenerThrew])
        #expect(faults.all.allSatisfy { $0.channelName == "faulty" })
        #expect(faults.all.first?.registrationSite == site)
        #expect(faults.all.map { $0.underlyingError as? Trouble } == [Trouble(), Trouble(text: "later")])
        withExtendedLifetime((first, throwing, last, owner)) {}
    }

    @Test func aThrowingListenerStaysAndIsCalledAgain() {
        let faults = Heard<Fault>()
        let channel = Channel<Int> { faults.add($0) }
        let token = channel.listen { (_: Int) throws in throw Trouble() }
        for message in 0..<5 { #expect(channel.post(message) == 1) }
        #expect(token.isActive)
        #expect(faults.all.map(\.count) == [1, 2, 3, 4, 5])
    }

    @Test func anInterceptorThatThrowsIsAFaultAndTheMessageGoesOnAsItWas() {
        let faults = Heard<Fault>()
        let channel = Channel<Int> { faults.add($0) }
        let heard = Heard<Int>()
        let tokens = [channel.intercept { _ in throw Trouble() }, channel.listen { heard.add($0) }]
        channel.post(1)
        #expect(heard.all == [1])
        #expect(faults.all.map(\.code) == [.listenerThrew])
        withExtendedLifetime(tokens) {}
    }

    @Test func aThrowingListenerOnAQueueAndOneOfALocalChannelAreFaults() async {
        let faults = Heard<Fault>()
        let channel = Channel<Int> { faults.add($0) }
        let token = channel.listen(on: .global()) { _ in throw Trouble() }
        let report = await channel.postAndWait(1)
        #expect(report.failures.count == 1)
        let local = LocalChannel<Int> { faults.add($0) }
        let localToken = local.listen { (_: Int) throws in throw Trouble() }
        local.post(1)
        #expect(faults.count == 2)
        withExtendedLifetime((token, localToken)) {}
    }

    @Test func theHandlerRunsOnTheThreadThatFoundTheFault() async {
        let threads = Heard<ObjectIdentifier>()
        let channel = Channel<Int> { _ in threads.add(ObjectIdentifier(Thread.current)) }
        let token = channel.listen { (_: Int) throws in throw Trouble() }
        await onThreads(1) { _ in
            channel.post(1)
            #expect(threads.all == [ObjectIdentifier(Thread.current)])
        }
        withExtendedLifetime(token) {}
    }

    /// The default handler reports the 1st, 2nd, 4th, 8th … of a kind and place, one line each.
    @Test func theDefaultHandlerWritesOneLineToStandardErrorForThe1st2nd4th8th() async throws {
        let result = try await #require(
            processExitsWith: .success,
            observing: [\.standardErrorContent]
        ) {
            let board = Switchboard()
            let token = board.listen(to: "loud") { (_: Int) throws in throw Trouble(text: "bang") }
            for message in 0..<10 { board.post(message, to: "loud") }
            withExtendedLifetime(token) {}
        }
        let output = String(decoding: result.standardErrorContent, as: UTF8.self)
        let lines = output.split(separator: "\n").filter { $0.contains("swift-channels") }
        #expect(lines.count == 4, "\(output)")
        #expect(
            lines.allSatisfy {
                $0.contains("listenerThrew") && $0.contains("loud") && $0.contains("bang")
                    && $0.contains("FaultTests.swift")
            }
        )
        #expect(lines.last?.contains("8") == true)
    }

    @Test func aFaultRaisedInsideAHandlerGoesToStandardErrorOnly() async throws {
        let result = try await #require(
            processExitsWith: .success,
            observing: [\.standardErrorContent]
        ) {
            endIfItHangs()
            let channel = Slot<Channel<Int>>()
            let calls = Tally()
            channel.value = Channel<Int> { _ in
                calls.add()
                channel.value?.post(1)
            }
            let token = channel.value!.listen { (_: Int) throws in throw Trouble() }
            channel.value!.post(0)
            precondition(calls.value == 1)
            withExtendedLifetime(token) {}
            // The handler holds it.
            channel.value = nil
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("listenerThrew"))
    }
}
