#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Testing

/// Dead letters in a stream, groups of other clients, and prefixes of subjects.
@Suite(.fewServers, .hangLimit)
struct DeadLetterStreamTests {
    private struct Poison: Error {}

    private func configuration(_ server: NATSServer) -> NATSConfiguration {
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.streams = [
            NATSStream("SHOP", subjects: ["staging.shop.>"]), NATSStream("DEAD", subjects: ["staging.dead.>"]),
        ]
        configuration.reconnectWait = .milliseconds(20)
        return configuration
    }

    @Test func letterIsStoredAndPutBackAlsoWithinTheDuplicateWindow() async throws {
        let server = try await NATSServer()
        let isMended = Gate()
        let heard = Recorder<Int>()
        let boards = [Switchboard(onFault: { _ in }), Switchboard(onFault: { _ in })]
        let settings = BridgeConfiguration(
            subjectPrefix: "staging",
            deadLetters: "dead",
            failureLimit: 2,
            backoff: Backoff(first: .milliseconds(1), limit: .milliseconds(1)),
            closeTimeout: .patience
        )
        let letters = Recorder<DeadLetter>()
        let sender = Bridge(
            "till",
            switchboard: boards[0],
            transport: NATSTransport(configuration(server)),
            routes: [.outgoing(.number, durable: true)],
            configuration: settings
        )
        let receiver = Bridge(
            "kitchen",
            switchboard: boards[1],
            transport: NATSTransport(configuration(server)),
            routes: [.incoming(.number, durable: true)],
            configuration: settings
        ) { letters.record($0) }
        let token = boards[1][.number].listen { (number: Int) throws in
            if number == 1, !isMended.isOpen { throw Poison() }
            heard.record(number)
        }
        let running = [Task { try await sender.run() }, Task { try await receiver.run() }]
        try await sender.waitUntilReady()
        try await receiver.waitUntilReady()
        for number in 0..<3 { #expect(await boards[0][.number].postAndWait(number).isComplete) }
        #expect(await letters.wait(count: 1).first?.message.subject == "staging.shop.number")
        isMended.open()
        let box = DeadLetterBox("dead", configuration: settings)
        #expect(try await box.putBack(over: NATSTransport(configuration(server)), atMost: 1) == 1)
        #expect(await heard.wait { $0.contains(1) }.sorted() == [0, 1, 2])
        #expect(try await box.putBack(over: NATSTransport(configuration(server))) == 0)
        for task in running {
            task.cancel()
            try await task.value
        }
        withExtendedLifetime(token) {}
    }

    /// It is delivered first each time.
    @Test func letterWhoseStreamIsGoneStaysAndDoesNotBlockTheBox() async throws {
        let server = try await NATSServer()
        let streams = [NATSStream("SHOP", subjects: ["shop.>"]), NATSStream("DEAD", subjects: ["dead.>"])]
        let peer = try await Peer.connect(to: server) { $0.streams = streams }
        try await peer.keepLetter("lost", of: "old.name")
        let received = try await peer.subscribe(to: "shop.number", durableName: "kitchen")
        for number in 1...2 {
            try await peer.keepLetter("\(number)", of: "shop.number")
            let error = await #expect(throws: BridgeError.self) {
                let transport = NATSTransport(NATSConfiguration(servers: [server.url]))
                return try await DeadLetterBox("dead").putBack(over: transport)
            }
            #expect(error?.code == .notStored && error?.subject == "old.name")
            #expect(await received.wait(count: number).map(\.text) == (1...number).map(String.init))
            received.all.last?.settle?(.acknowledged)
        }
        try await peer.close()
    }

    @Test func aStreamForLettersIsCreatedIfThereIsNone() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
        let board = Switchboard(onFault: { _ in })
        let isMended = Gate()
        let heard = Recorder<Int>()
        let token = board[.number].listen { (number: Int) throws in
            if !isMended.isOpen { throw Poison() }
            heard.record(number)
        }
        let letters = Recorder<DeadLetter>()
        var settings = BridgeConfiguration.patient
        settings.failureLimit = 2
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: NATSTransport(configuration),
            routes: [.incoming(.number, durable: true)],
            configuration: settings
        ) { letters.record($0) }
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        try await peer.publish("7", to: "shop.number", durable: true)
        _ = await letters.wait(count: 1)
        isMended.open()
        let box = DeadLetterBox("dead")
        #expect(try await box.putBack(over: NATSTransport(configuration)) == 1)
        #expect(await heard.wait(count: 1) == [7])
        let found = try await peer.askJetStream("STREAM.INFO.DEAD")["config"] as? [String: Any]
        #expect(found?["subjects"] as? [String] == ["dead.>"])
        running.cancel()
        try await running.value
        try await peer.close()
        withExtendedLifetime(token) {}
    }

    /// The server counts those that wait for their next delivery, which is in an hour here.
    @Test func messagesThatAlwaysFailHoldUpNoOthers() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])] }
        let board = Switchboard(onFault: { _ in })
        let heard = Recorder<Int>()
        let token = board[.number].listen { (number: Int) throws in
            if number < 300 { throw Poison() }
            heard.record(number)
        }
        var settings = BridgeConfiguration.patient
        settings.backoff = Backoff(first: .seconds(3_600), limit: .seconds(3_600))
        let bridge = Bridge(
            "kitchen",
            switchboard: board,
            transport: NATSTransport(NATSConfiguration(servers: [server.url])),
            routes: [.incoming(.number, durable: true)],
            configuration: settings
        )
        for number in 0..<310 { try await peer.publish("\(number)", to: "shop.number", durable: true) }
        let running = Task { try await bridge.run() }
        #expect(await heard.wait(count: 10) == Array(300..<310))
        running.cancel()
        try await running.value
        try await peer.close()
        withExtendedLifetime(token) {}
    }

    /// Otherwise it goes on for as long as the cause is not mended.
    @Test func onlyTheLettersThatThereAreArePutBack() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"]), NATSStream("DEAD", subjects: ["dead.>"])]
        }
        for number in 1...3 {
            try await peer.keepLetter("\(number)", of: "shop.sold", id: "\(number)")
        }
        // Each comes back at once.
        let count = Recorder<Int>()
        try await peer.transport.subscribe(TransportSubscription(to: "shop.sold", durableName: "kitchen")) { inbound in
            let transport = peer.transport
            count.record(1)
            Task {
                let letter = DeadLetter(message: inbound.message, error: BridgeError(.tooManyFailures))
                try await transport.keep(letter, on: "dead.shop.sold", for: "kitchen")
                inbound.settle?(.acknowledged)
            }
        }
        let transport = NATSTransport(NATSConfiguration(servers: [server.url]))
        #expect(try await DeadLetterBox("dead").putBack(over: transport) == 3)
        await count.wait(count: 3)
        try await peer.close()
    }

    /// The name of the group is that of the queue group, so any client may be a member.
    @Test func groupIsSharedWithClientsThatAreNoBridges() async throws {
        let server = try await NATSServer()
        let plain = try await Peer.connect(to: server)
        let heard = Recorder<String>()
        try await plain.transport.subscribe(TransportSubscription(to: "shop.number", group: "books")) { _ in
            heard.record("plain")
        }
        let board = Switchboard()
        let bridge = Bridge(
            "books",
            switchboard: board,
            transport: NATSTransport(NATSConfiguration(servers: [server.url])),
            routes: [.incoming(.number).inGroup("books")],
            configuration: .patient
        )
        let token = board[.number].listen { _ in heard.record("bridge") }
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        let sender = try await Peer.connect(to: server)
        for number in 0..<100 { try await sender.publish("\(number)", to: "shop.number") }
        let members = await heard.wait(count: 100)
        #expect(Set(members) == ["plain", "bridge"])
        running.cancel()
        try await running.value
        #expect(heard.count == 100)
        for peer in [plain, sender] { try await peer.close() }
        withExtendedLifetime(token) {}
    }
}
#endif
