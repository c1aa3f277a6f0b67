import Channels
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Rule 10, and what becomes of faults.
struct FaultTests {
    @Test func aThrowingListenerDisturbsNobodyAndIsAFaultWithItsSite() async {
        let faults = Recorder<Fault>()
        let board = Switchboard { faults.record($0) }
        let heard = Recorder<String>()
        let owner = Owner()
        let first = board["faulty"].listen(priority: .high) { (_: Int) in heard.record("first") }
        let site = CallSite(fileID: #fileID, line: #line + 1)
        let throwing = board["faulty"].listen { (_: Int) throws in throw Trouble() }
        board["faulty"].listen(owner) { (_, _: Int) async throws in throw Trouble(text: "later") }
        let last = board["faulty"].listen(priority: .low) { (_: Int) in heard.record("last") }
        let report = await board["faulty"].postAndWait(1)
        #expect(heard.all == ["first", "last"])
        #expect(report.reachedCount == 4 && report.completedCount == 2)
        #expect(Set(report.failures.map(\.ownerType)) == [nil, "Owner"])
        #expect(faults.all.map(\.code) == [.listenerThrew, .listenerThrew])
        #expect(faults.all.allSatisfy { $0.channelName == "faulty" })
        #expect(faults.all.first?.registrationSite == site)
        #expect(faults.all.map { $0.underlyingError as? Trouble } == [Trouble(), Trouble(text: "later")])
        withExtendedLifetime((first, throwing, last, owner)) {}
    }

    @Test func aFaultIsOneLineWhateverTheErrorSays() {
        let error = Trouble(text: "first\nsecond")
        let fault = Fault(code: .listenerThrew, channelName: "faulty", underlyingError: error, detail: "a\rb")
        #expect(fault.description.hasPrefix("listenerThrew on channel faulty, a\\rb: "))
        #expect(!fault.description.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }

    @Test func aFaultSaysOnWhichKindOfChannelItWas() {
        let faults = Recorder<Fault>()
        let board = Switchboard { faults.record($0) }
        let local = LocalChannel<Int> { faults.record($0) }
        let localToken = local.listen { (_: Int) throws in throw Trouble() }
        let tokens = [
            board.state("kinds.state", initial: 0).listen { (_: Int) throws in throw Trouble() },
            board[matching: "kinds.*"].listen { (_: Posted<any Sendable>) throws in throw Trouble() },
            board["kinds.messages"].listen { (_: Int) throws in throw Trouble() },
        ]
        board["kinds.messages"].post(1)
        local.post(1)
        let bell = Bell { board.notify((any Sounding).self) { $0.sound() } }
        board.add(bell, for: (any Sounding).self)
        board.notify((any Sounding).self) { $0.sound() }
        #expect(faults.all.map(\.channelKind) == [.state, .pattern, .messages, .local, .protocol])
        let names = ["kinds.state", "kinds.*", "kinds.messages", "LocalChannel<Int>", "Sounding"]
        #expect(faults.all.map(\.channelName) == names)
        withExtendedLifetime((tokens, localToken)) {}
    }

    @Test(arguments: [
        (ChannelKind.messages, "channel"), (.local, "local channel"), (.state, "state"),
        (.requests, "request channel"), (.protocol, "protocol"), (.pattern, "pattern"), (.bridge, "bridge"),
    ])
    func aFaultIsOneLineThatNamesTheKind(kind: ChannelKind, noun: String) {
        let fault = Fault(code: .listenerThrew, channelKind: kind, channelName: "shop.sales", count: 2)
        #expect("\(fault)" == "listenerThrew on \(noun) shop.sales (2 times so far)")
        #expect(fault.channelKind == kind)
    }

    @Test func theHandlerRunsOnTheThreadThatFoundTheFault() async {
        let threads = Recorder<ObjectIdentifier>()
        let channel = Channel<Int> { _ in threads.record(ObjectIdentifier(Thread.current)) }
        let token = channel.listen { (_: Int) throws in throw Trouble() }
        await onThreads(1) { _ in
            channel.post(1)
            #expect(threads.all == [ObjectIdentifier(Thread.current)])
        }
        withExtendedLifetime(token) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// The default handler reports the 1st, 2nd, 4th, 8th … of a kind and place, one line each.
    @Test func theDefaultHandlerWritesLinesForThe1st2nd4th8th() async throws {
        let result = try await #require(
            processExitsWith: .success,
            observing: [\.standardErrorContent]
        ) {
            let board = Switchboard()
            let token = board["loud"].listen { (_: Int) throws in throw Trouble(text: "bang") }
            for message in 0..<10 { board["loud"].post(message) }
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
            #expect(calls.value == 1)
            withExtendedLifetime(token) {}
            // The handler holds it.
            channel.value = nil
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("listenerThrew"))
    }

    /// As in a service that was started without.
    @Test func aFaultWithoutStandardErrorIsNotWrittenAndDisturbsNobody() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            close(2)
            let channel = Channel<Int>()
            let token = channel.listen { (_: Int) throws in throw Trouble() }
            #expect(channel.post(1) == 1 && channel.post(2) == 1)
            withExtendedLifetime(token) {}
        }
    }
    #endif
}
