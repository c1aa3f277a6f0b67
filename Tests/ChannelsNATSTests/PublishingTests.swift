#if NATS
import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

@testable import ChannelsNATS

/// Durable messages of a bridge on their way to a stream.
@Suite(.fewServers, .hangLimit)
struct PublishingOverNATSTests {
    private static let stream = NATSStream("SHOP", subjects: ["shop.>"])

    @Test func nothingOfAConnectionIsLeftWhenItIsClosed() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        weak var session: Session?
        do {
            let given = try peer.transport.session
            session = given
            try await peer.publish("soup", to: "shop.sale", durable: true)
            try await peer.transport.watch("shop.total") { _ in }
            try await peer.close()
        }
        await wait(for: session) { $0 == nil }
    }

    private func stored(_ count: Int, _ server: NATSServer) async throws -> [String] {
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        let received = try await peer.subscribe(to: "shop.number", durableName: "reader")
        var texts: [String] = []
        while texts.count < count {
            try Task.checkCancellation()
            let messages = await received.wait(count: texts.count + 1)
            for message in messages.dropFirst(texts.count) { message.settle?(.acknowledged) }
            texts = messages.map(\.text)
        }
        try await peer.close()
        return texts
    }

    @Test func messagesArePublishedInOrderWithManyUnacknowledged() async throws {
        let server = try await NATSServer()
        try await withBridge(over: server, [.outgoing(.number, durable: true)]) { board, bridge in
            for number in 0..<5_000 { board[.number].post(number) }
            let report = await board[.number].postAndWait(5_000)
            #expect(report.isComplete)
            #expect(bridge.statistics.sent == 5_001)
        }
        #expect(try await stored(5_001, server) == (0...5_000).map(String.init))
    }

    /// The server dies with messages on their way, three times.
    @Test func nothingIsLostDoubledOrOutOfOrderWhenTheServerDies() async throws {
        let server = try await NATSServer()
        try await withBridge(over: server, [.outgoing(.number, durable: true)]) { board, bridge in
            for round in 0..<3 {
                for number in 0..<1_000 { board[.number].post(round * 1_000 + number) }
                server.kill()
                for number in 1_000..<1_100 { board[.number].post(round * 1_000 + number) }
                try await server.start()
                await board[.number].postAndWait(-round)
            }
            #expect(bridge.statistics.sent == 3_303 && bridge.statistics.failed == 0)
        }
        let expected = (0..<3).flatMap { round in (0..<1_100).map { round * 1_000 + $0 } + [-round] }
        let found = try await stored(3_303, server)
        let first = zip(found, expected.map(String.init)).enumerated().first { $1.0 != $1.1 }
        #expect(found.count == 3_303 && first == nil, "from \(String(describing: first)) on")
    }

    /// Without one, it would reach plain listeners at each attempt, and never be acknowledged.
    @Test func postThatNoStreamKeepsReachesNobodyAndWaitsForAStream() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let received = try await peer.subscribe(to: ">")
        let faults = Recorder<Fault>()
        try await withBridge(over: server, [.outgoing(.number, durable: true)], streams: []) { board, bridge in
            let token = board.addInstrument(FaultRecorder(faults))
            async let report = board[.number].postAndWait(1)
            await faults.wait { $0.contains { "\($0)".contains("no stream keeps it") } }
            try await peer.publish("end", to: "shop.end")
            await received.wait { $0.contains { $0.text == "end" } }
            #expect(!received.all.contains { $0.message.subject == "shop.number" })
            let maker = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
            try await maker.publish("other", to: "shop.other", durable: true)
            #expect(await report.isComplete)
            #expect(bridge.statistics.failed == 0 && bridge.statistics.sent == 1)
            try await maker.close()
            withExtendedLifetime(token) {}
        }
        try await peer.close()
    }

    private final class FaultRecorder: ChannelInstrument {
        let faults: Recorder<Fault>

        init(_ faults: Recorder<Fault>) { self.faults = faults }

        func report(_ fault: Fault) { faults.record(fault) }
    }

    /// The same without a bridge, as the tool does it.
    @Test func durableMessageThatNoStreamKeepsFailsAtOnceAndReachesNobody() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.acknowledgementTimeout = .patience }
        let received = try await peer.subscribe(to: ">")
        let error = await #expect(throws: BridgeError.self) {
            try await peer.publish("1", to: "shop.number", id: "1", durable: true)
        }
        #expect(error?.code == .notStored && error?.description.contains("no stream keeps it") == true)
        try await peer.publish("end", to: "shop.end")
        await received.wait { $0.contains { $0.text == "end" } }
        #expect(!received.all.contains { $0.message.subject == "shop.number" })
        try await peer.close()
    }

    @Test func streamThatIsGoneAfterAReconnectionIsNoticedBeforePublishing() async throws {
        let server = try await NATSServer()
        let maker = try await Peer.connect(to: server) {
            $0.streams = [Self.stream]
            $0.streams[0].storage = .memory
        }
        try await maker.publish("x", to: "shop.number", durable: true)
        try await maker.close()
        try await withBridge(over: server, [.outgoing(.number, durable: true)], streams: []) { board, bridge in
            #expect(await board[.number].postAndWait(1).isComplete)
            server.kill()
            try await server.start()
            _ = await bridge.status.first { $0.isReady }
            async let report = board[.number].postAndWait(2)
            let again = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
            try await again.publish("y", to: "shop.other", durable: true)
            #expect(await report.isComplete)
            let stored = try await again.subscribe(to: "shop.>", durableName: "all")
            #expect(Set(await stored.wait(count: 2).map(\.text)) == ["y", "2"])
            try await again.close()
        }
    }

    /// The broker would not store it, and say that it has.
    @Test func identifierThatTheStreamKnowsIsAnErrorAtTheFirstAttempt() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [Self.stream] }
        try await peer.publish("forged", to: "shop.other", id: "guessed", durable: true)
        let results = Recorder<BridgeError?>()
        for isRepeated in [false, true] {
            try await peer.transport.publishDurably(
                try message("1", to: "shop.number", id: "guessed"),
                isRepeated: isRepeated
            ) { results.record($0) }
        }
        #expect(await results.wait(count: 2).map { $0?.code } == [.duplicateIdentifier, nil])
        try await peer.close()
    }

    @Test func fullStreamIsTriedAgainUntilThereIsRoom() async throws {
        let server = try await NATSServer()
        var small = NATSStream("SHOP", subjects: ["shop.>"])
        small.retention = .interest
        small.limits.messages = 2
        let reader = try await Peer.connect(to: server) { $0.streams = [small] }
        let received = try await reader.subscribe(to: "shop.number", durableName: "reader")
        try await withBridge(over: server, [.outgoing(.number, durable: true)], streams: [small]) { board, bridge in
            for number in 0..<5 { board[.number].post(number) }
            for number in 0..<5 { await received.wait(count: number + 1)[number].settle?(.acknowledged) }
            await wait(for: bridge.statistics.sent) { $0 >= 5 }
        }
        #expect(received.all.map(\.text) == ["0", "1", "2", "3", "4"])
        try await reader.close()
    }

    @Test(arguments: [
        ("{\"stream\":\"SHOP\", \"seq\":12}", 12, false), ("{\"stream\":\"S\",\"seq\":1}", 1, false),
        ("{\"stream\":\"SHOP\", \"seq\":3,\"duplicate\": true}", 3, true),
        ("{\"stream\":\"S\", \"domain\":\"hub\", \"seq\":18446744073709551615}", UInt64.max, false),
        ("{ \"seq\" : 4, \"stream\" : \"S\", \"duplicate\" : true }", 4, true),
    ])
    func acknowledgementIsRead(_ text: String, _ sequence: UInt64, _ isDuplicate: Bool) throws {
        let read = try Array(text.utf8).withUnsafeBytes { try Acknowledgement($0, "a") }
        #expect(read.sequence == sequence && read.isDuplicate == isDuplicate)
        #expect(["SHOP", "S"].contains(read.stream) && text.contains("\"\(read.stream)\""))
    }

    @Test(arguments: [
        "", "{}", "{\"stream\":\"S\"}", "{\"stream\":\"S\",\"seq\":}", "{\"stream\":\"S\",\"seq\":1",
        "{\"stream\":\"S\",\"seq\":-1}", "{\"stream\":\"", "{\"stream\":\"S\"\u{0},\"seq\":1}", "[1]",
    ])
    func answerThatIsNoAcknowledgementIsAnError(_ text: String) {
        #expect(throws: BridgeError.self) { try Array(text.utf8).withUnsafeBytes { try Acknowledgement($0, "a") } }
    }

    /// Nobody has looked while it was there, but it was heard.
    @Test func aValueThatIsPurgedBeforeTheNextLookIsFoundToBeLost() {
        let bucket = Bucket()
        func look(lastSequence: UInt64) -> Bool {
            bucket.identify(StreamIdentity(created: "a", lastSequence: lastSequence, subjects: 0), known: bucket.mark)
        }
        #expect(!look(lastSequence: 0))
        #expect(bucket.revision(1) == 1)
        #expect(look(lastSequence: 1))
        // Told once.
        #expect(!look(lastSequence: 1))
    }

    @Test func revisionsRiseAcrossBuckets() {
        let bucket = Bucket()
        func identify(_ created: String, _ last: UInt64, _ subjects: Int, known: UInt64, since: Int? = nil) -> Bool {
            let found = StreamIdentity(created: created, lastSequence: last, subjects: subjects)
            return bucket.identify(found, known: .init(highest: known, replacements: since ?? bucket.replacements))
        }
        #expect(!identify("a", 0, 0, known: 0))
        #expect(bucket.revision(7) == 7)
        #expect(!identify("a", 9, 3, known: 7))
        // 7 was stored after the answer.
        #expect(!identify("a", 6, 3, known: 6))
        // An answer that was overtaken says nothing about what has come since.
        #expect(!identify("a", 10, 4, known: 7) && !identify("a", 9, 3, known: 7) && !identify("a", 10, 4, known: 7))
        #expect(!identify("a", 11, 4, known: 7))
        // One was removed: what follows is newer all the same.
        #expect(identify("a", 11, 2, known: 7) && bucket.losses == 1 && bucket.replacements == 0)
        #expect(bucket.revision(7) == 7)
        #expect(identify("b", 0, 2, known: 7) && bucket.replacements == 1)
        // Asked before the replacement was noticed.
        #expect(!identify("b", 0, 2, known: 7) && !identify("a", 11, 2, known: 7, since: 0))
        #expect(bucket.revision(1) == 8)
        // Restored from an older copy: the same, with less in it.
        #expect(identify("b", 0, 2, known: 8) && bucket.revision(1) == 9)
    }

    @Test func deadlinesAreLookedAtInTheirOrder() {
        var deadlines = Deadlines()
        let start = ContinuousClock.now
        for id in 0..<4 { deadlines.add(UInt64(id), in: .seconds(2), now: start + .milliseconds(id)) }
        deadlines.add(9, in: .seconds(1), now: start)
        var looks = 0
        let none = deadlines.takeOverdue(now: start) { _ in
            looks += 1
            return true
        }
        #expect(none.isEmpty && looks == 2)
        let overdue = deadlines.takeOverdue(now: start + .seconds(2) + .milliseconds(1)) { $0 != 0 }
        #expect(overdue.sorted() == [1, 9])
        #expect(deadlines.takeOverdue(now: start) { _ in false }.isEmpty)
        #expect(deadlines.takeOverdue(now: start + .seconds(9)) { _ in true }.isEmpty)
    }
}

extension ChannelName<Int> {
    static var number: Self { "shop.number" }
}
#endif
