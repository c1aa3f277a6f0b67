#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Synchronization
import Testing

/// Switchboards in two processes, as far as they can tell.
@Suite(.fewServers, .hangLimit)
struct BridgeOverNATSTests {
    struct Sale: Codable, Sendable, Hashable {
        var number: Int
    }

    /// A switchboard with a bridge that runs.
    struct Node {
        let board = Switchboard(onFault: { _ in })
        let bridge: Bridge
        let deadLetters = Recorder<DeadLetter>()
        let heard = Recorder<Sale>()
        private let running: Task<Void, any Error>
        private let token: ListenerToken

        init(
            _ name: String,
            _ server: NATSServer,
            _ routes: [BridgeRoute],
            configuration given: BridgeConfiguration = BridgeConfiguration(
                failureLimit: 3,
                backoff: Backoff(first: .milliseconds(10), limit: .milliseconds(20)),
                requestTimeout: .patience,
                closeTimeout: .patience
            ),
            beforeRunning prepare: (Switchboard) -> Void = { _ in }
        ) async throws {
            prepare(board)
            var configuration = NATSConfiguration(servers: [server.url])
            configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            configuration.reconnectWait = .milliseconds(20)
            configuration.deliveries.acknowledgementWait = .seconds(20)
            let bridge = Bridge(
                name,
                switchboard: board,
                transport: NATSTransport(configuration),
                routes: routes,
                configuration: given
            ) { [deadLetters] in deadLetters.record($0) }
            self.bridge = bridge
            token = board[.natsSale].listen { [heard] sale in heard.record(sale) }
            running = Task<Void, any Error> { try await bridge.run() }
            try await bridge.waitUntilReady()
        }

        func end() async throws {
            running.cancel()
            try await running.value
            withExtendedLifetime(token) {}
        }
    }

    /// What it was given is heard there, and the rest by the others.
    @Test func processThatLeavesAGroupLosesNothing() async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.incoming(.natsSale).inGroup("books")]
        let till = try await Node("till", server, [.outgoing(.natsSale)])
        var workers = [try await Node("worker", server, routes)]
        for round in 0..<10 {
            let leaver = try await Node("leaver", server, routes)
            let posting = Task {
                for number in round * 500..<round * 500 + 500 {
                    till.board[.natsSale].post(Sale(number: number))
                    await Task.yield()
                }
            }
            await leaver.heard.wait(count: 10)
            try await leaver.end()
            await posting.value
            workers.append(leaver)
        }
        await wait(for: workers.map(\.heard.count)) { $0.reduce(0, +) >= 5_000 }
        #expect(Set(workers.flatMap(\.heard.all)).count == 5_000)
        try await workers[0].end()
        try await till.end()
    }

    @Test(arguments: [false, true])
    func messageIsHeardOnceInEveryProcessWithBridgesFacingEachOther(durable: Bool) async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.both(.natsSale, durable: durable)]
        let (first, second) = (try await Node("first", server, routes), try await Node("second", server, routes))
        for number in 0..<100 {
            await first.board[.natsSale].postAndWait(Sale(number: number))
            await second.board[.natsSale].postAndWait(Sale(number: 1_000 + number))
        }
        for node in [first, second] {
            let sales = await node.heard.wait(count: 200)
            #expect(Set(sales).count == 200)
            // Each poster's in order.
            #expect(sales.filter { $0.number < 1_000 } == (0..<100).map(Sale.init))
            #expect(sales.filter { $0.number >= 1_000 } == (1_000..<1_100).map(Sale.init))
        }
        try await first.end()
        try await second.end()
        for node in [first, second] {
            #expect(node.heard.all.count == 200)
            #expect(node.bridge.statistics.sent == 100 && node.bridge.statistics.received == 100)
        }
    }

    /// The server gives each process its turn: what comes to the older one three times is a dead letter, an eighth.
    @Test func newerProcessHearsMostOfWhatAnOlderOneCannotDecode() async throws {
        let server = try await NATSServer()
        let till = try await Node("till", server, [.outgoing(.natsSale, durable: true)])
        let older = try await Node("kitchen", server, [.incoming(.natsSale, durable: true, type: "Older")])
        let newer = try await Node("kitchen", server, [.incoming(.natsSale, durable: true)])
        for number in 0..<200 { till.board[.natsSale].post(Sale(number: number)) }
        await wait(for: newer.heard.count + older.deadLetters.count) { $0 >= 200 }
        for node in [till, older, newer] { try await node.end() }
        #expect(newer.heard.count + older.deadLetters.count == 200 && newer.heard.count > 100)
        #expect(older.deadLetters.all.allSatisfy { $0.deliveryCount == 3 })
    }

    @Test func malformedPayloadAndUnknownTypeBecomeDeadLettersAndTheRestContinues() async throws {
        let server = try await NATSServer()
        let route = BridgeRoute.incoming(.natsSale, durable: true).retryingUndecodable(atMost: 0)
        let node = try await Node("kitchen", server, [route])
        let peer = try await Peer.connect(to: server)
        let bad: [(TransportHeaders, String)] = [
            (["ce-id": "1"], "{"), (["ce-id": "2"], ""), (["ce-id": "3"], "{\"number\":\"seven\"}"),
            (["ce-id": "4", "ce-type": "Refund"], "{\"number\":1}"),
            (["ce-id": "5", "ce-specversion": "7.0"], "{\"number\":1}"),
        ]
        for (headers, body) in bad {
            try await peer.transport.publish(
                try TransportMessage(subject: "shop.sale", headers: headers, body: Array(body.utf8)),
                durable: true
            )
        }
        try await peer.publish("{\"number\":42}", to: "shop.sale", durable: true)
        #expect(await node.heard.wait(count: 1) == [Sale(number: 42)])
        let letters = await node.deadLetters.wait(count: 5)
        #expect(Set(letters.map { $0.message.headers["ce-id"] }) == ["1", "2", "3", "4", "5"])
        #expect(letters.allSatisfy { $0.deliveryCount == 1 })
        try await peer.close()
        try await node.end()
    }

    /// Each process handles some, and ends with the others in its hands. Where there are more than three processes, some
    /// messages were delivered three times without being handled; then they come alone, and out of order.
    @Test(arguments: [4, 14]) func processesThatEndMakeNoDeadLettersAndLoseNothing(each: Int) async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.incoming(.natsSale, durable: true)]
        try await Node("kitchen", server, routes).end()
        let sender = try await Node("till", server, [.outgoing(.natsSale, durable: true)])
        for number in 0..<40 { await sender.board[.natsSale].postAndWait(Sale(number: number)) }
        var (heard, letters): ([Int], Int) = ([], 0)
        while heard.count < 40, letters == 0 {
            let node = try await Node("kitchen", server, routes)
            await node.heard.wait(count: min(each, 40 - heard.count))
            try? await node.end()
            heard += node.heard.all.map(\.number)
            letters += node.deadLetters.count
        }
        #expect(letters == 0)
        #expect((each < 14 ? heard.sorted() : heard) == Array(0..<40))
        try await sender.end()
    }

    /// No more is fetched than there is room for.
    @Test func largeMessagesAreFetchedInPartsAndOnce() async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
        }
        let body = Array("{\"number\":1,\"text\":\"\(String(repeating: "x", count: 200_000))\"}".utf8)
        for number in 0..<60 {
            let headers: TransportHeaders = ["ce-id": "\(number)"]
            try await sender.transport.publish(
                try TransportMessage(subject: "shop.sale", headers: headers, body: body),
                durable: true
            )
        }
        let configuration = BridgeConfiguration(
            buffer: .init(bytes: 8 << 20),
            failureLimit: 1,
            closeTimeout: .patience
        )
        let node = try await Node(
            "kitchen",
            server,
            [.incoming(.natsSale, durable: true)],
            configuration: configuration
        )
        #expect(await node.heard.wait(count: 60).count == 60)
        try await node.end()
        let statistics = node.bridge.statistics
        #expect(statistics.received == 60 && statistics.retried == 0 && statistics.duplicates == 0)
        try await sender.close()
    }

    /// Its sequences begin again; those of the old one are higher.
    @Test(arguments: [false, true])
    func statesConvergeAfterTheServerHasLostItsStorage(setsMeanwhile: Bool) async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.both(state: .natsTotal, initial: 0)]
        let (first, second) = (try await Node("first", server, routes), try await Node("second", server, routes))
        let totals = [first, second].map { $0.board.state(.natsTotal, initial: 0) }
        for value in 1...100 { totals[0].set(value) }
        _ = await totals[1].first { $0 == 100 }
        // When both have this one, neither still waits for an acknowledgement: without it, a value would be
        // stored after the loss as if it were new.
        let peer = try await Peer.connect(to: server)
        _ = try await peer.transport.store(try message("101", to: "shop.total"))
        for total in totals { _ = await total.first { $0 == 101 } }
        try await peer.close()
        let lost = Recorder<Int>()
        let tokens = [first, second].enumerated().map { index, node in
            node.bridge.events.listen { event in
                if case .lastValuesLost(nil) = event { lost.record(index) }
            }
        }
        server.kill()
        if setsMeanwhile { totals[1].set(102) }
        try server.loseStorage()
        try await server.start()
        await lost.wait { Set($0).count == 2 }
        // A process that came before the others have stored theirs would store its own.
        let watcher = try await Peer.connect(to: server)
        let stored = Recorder<String>()
        try await watcher.transport.watch("shop.total") {
            stored.record(String(decoding: $0.message.body, as: UTF8.self))
        }
        let expected = setsMeanwhile ? 102 : 101
        await stored.wait { $0.last == "\(expected)" }
        let third = try await Node("third", server, routes)
        let last = third.board.state(.natsTotal, initial: 0)
        for total in totals + [last] { _ = await total.first { $0 == expected } }
        for (value, state) in [(202, totals[0]), (203, totals[1]), (204, last)] {
            state.set(value)
            for other in totals + [last] { _ = await other.first { $0 == value } }
        }
        try await watcher.close()
        for node in [first, second, third] { try await node.end() }
        withExtendedLifetime(tokens) {}
    }

    /// With a tool for the key-value store, while a process has it or nobody does.
    @Test(arguments: [false, true])
    func stateThatIsDeletedAtTheServerIsStoredAgain(isHeld: Bool) async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.both(state: .natsTotal, initial: 7)]
        let first = try await Node("first", server, routes)
        let watcher = try await Peer.connect(to: server)
        let stored = Recorder<String>()
        try await watcher.transport.watch("shop.total") {
            stored.record(String(decoding: $0.message.body, as: UTF8.self))
        }
        first.board.state(.natsTotal, initial: 7).set(5)
        await stored.wait { $0.last == "5" }
        if !isHeld { try await first.end() }
        let count = stored.count
        try publishRaw(headers: "KV-Operation: DEL\r\n", "", to: "$KV.channels.shop.total", of: server)
        if isHeld { await stored.wait { $0.count > count } }
        let second = try await Node("second", server, routes)
        await stored.wait { $0.count > count && $0.last == (isHeld ? "5" : "7") }
        let third = try await Node("third", server, [.both(state: .natsTotal, initial: 0)])
        let total = third.board.state(.natsTotal, initial: 0)
        _ = await total.first { $0 == (isHeld ? 5 : 7) }
        if isHeld { try await first.end() }
        for node in [second, third] { try await node.end() }
        try await watcher.close()
    }

    /// Whoever purges the bucket tells nobody, and its sequences go on.
    @Test func statesPurgedAtTheServerAreToldOfAndStoredAgain() async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.both(state: .natsTotal, initial: 0)]
        let nodes = [try await Node("first", server, routes), try await Node("second", server, routes)]
        let lost = Recorder<Int>()
        let tokens = nodes.enumerated().map { index, node in
            node.bridge.events.listen { event in
                if case .lastValuesLost(nil) = event { lost.record(index) }
            }
        }
        nodes[0].board.state(.natsTotal, initial: 0).set(5)
        _ = await nodes[1].board.state(.natsTotal, initial: 0).first { $0 == 5 }
        let peer = try await Peer.connect(to: server)
        // They look from time to time: what was there before the first look is not missed.
        while lost.count == 0 {
            _ = try await peer.askJetStream("STREAM.PURGE.KV_channels")
            let removed = lost.count
            for _ in 0..<100 where lost.count == removed { _ = try await peer.askJetStream("INFO") }
        }
        let stored = Recorder<String>()
        try await peer.transport.watch("shop.total") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        await stored.wait { $0.last == "5" }
        let third = try await Node("third", server, routes)
        _ = await third.board.state(.natsTotal, initial: 0).first { $0 == 5 }
        try await peer.close()
        for node in nodes + [third] { try await node.end() }
        withExtendedLifetime(tokens) {}
    }

    /// The process that has nothing to say starts first.
    @Test func anInitialValueYieldsToOneThatWasSetBefore() async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.both(state: .natsTotal, initial: 0)]
        let peer = try await Peer.connect(to: server)
        let stored = Recorder<String>()
        let unset = try await Node("unset", server, routes)
        try await peer.transport.watch("shop.total") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        await stored.wait { $0 == ["0"] }
        let till = try await Node("till", server, routes) { $0.state(.natsTotal, initial: 0).set(41) }
        _ = await unset.board.state(.natsTotal, initial: 0).first { $0 == 41 }
        let late = try await Node("late", server, routes)
        _ = await late.board.state(.natsTotal, initial: 0).first { $0 == 41 }
        try await peer.close()
        for node in [unset, till, late] { try await node.end() }
        #expect(stored.all == ["0", "41"])
    }

    /// Each process sets a state of its own, as for presence; the server ends and comes back.
    @Test func statesOfAPatternReachAllAlsoThoseThatJoinLate() async throws {
        let server = try await NATSServer()
        let routes: [BridgeRoute] = [.both(statesMatching: "shop.total.*", of: Int.self)]
        func state(_ name: String, _ node: Node) throws -> StateChannel<Int> {
            try node.board.state("shop.total.\(name)", of: Int.self, initial: 0)
        }
        let (till, kitchen) = (try await Node("till", server, routes), try await Node("kitchen", server, routes))
        for value in 1...5 {
            try state("till", till).set(value)
            _ = try await state("till", kitchen).first { $0 == value }
            try state("kitchen", kitchen).set(value * 10)
            _ = try await state("kitchen", till).first { $0 == value * 10 }
        }
        let late = try await Node("late", server, routes)
        #expect(try state("till", late).value == 5 && state("kitchen", late).value == 50)
        server.kill()
        try await server.start()
        try state("till", till).set(6)
        for node in [kitchen, late] { _ = try await state("till", node).first { $0 == 6 } }
        for node in [till, kitchen, late] { try await node.end() }
    }

    @Test func stateReachesAProcessThatJoinsLateAndOneAskedAnswers() async throws {
        let server = try await NATSServer()
        let till = try await Node("till", server, [.both(state: .natsTotal, initial: 0), .answering(.natsDouble)])
        till.board.state(.natsTotal, initial: 0).set(12)
        let responder = till.board.requests(.natsDouble).respond { $0 * 2 }
        // It has been stored when another process can have it.
        let display = try await Node("display", server, [.both(state: .natsTotal, initial: 0), .asking(.natsDouble)])
        let total = display.board.state(.natsTotal, initial: 0)
        #expect(await total.first { $0 == 12 } == 12)
        till.board.state(.natsTotal, initial: 0).set(13)
        #expect(await total.first { $0 == 13 } == 13)
        #expect(try await display.board.requests(.natsDouble).ask(21) == 42)
        try await display.end()
        try await till.end()
        withExtendedLifetime(responder) {}
    }

    @Test func tooManyHeadersCostNoBodyAndTheFaultNamesTheLimit() async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server)
        try await withBridge(over: server, [.incoming(.natsSale)]) { board, bridge in
            let heard = Recorder<Int>()
            let token = board[.natsSale].listen { sale in heard.record(sale.number) }
            let faults = Recorder<BridgeError>()
            let events = bridge.events.listen { if case .failed(let error) = $0 { faults.record(error) } }
            var headers = TransportHeaders()
            for number in 0..<257 { try headers.set("x", for: "x-\(number)") }
            let body = Array(#"{"number":1}"#.utf8)
            for headers in [headers, [:]] {
                let message = try TransportMessage(subject: "shop.sale", headers: headers, body: body)
                try await sender.transport.publish(message, durable: false)
            }
            #expect(await heard.first(2).count == 2)
            #expect(await faults.first(1).first?.description.contains("257 headers, more than 256") == true)
            #expect(bridge.statistics.refused == 0)
            withExtendedLifetime((token, events)) {}
        }
        try await sender.close()
    }
}

extension ChannelName<BridgeOverNATSTests.Sale> {
    static var natsSale: Self { "shop.sale" }
}

extension StateName<Int> {
    fileprivate static var natsTotal: Self { "shop.total" }
}

extension RequestName<Int, Int> {
    fileprivate static var natsDouble: Self { "shop.double" }
}
#endif
