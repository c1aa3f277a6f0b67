#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Dispatch
import Synchronization
import Testing

/// Servers that are not there, go, come back, or stand still.
@Suite(.fewServers, .hangLimit)
struct FailureTests {
    @Test func connectingWithoutAServerSaysSoAndCanBeTriedAgain() async throws {
        let port = try freePorts(1)[0]
        let transport = NATSTransport(NATSConfiguration(servers: ["nats://127.0.0.1:\(port)"]))
        let error = await #expect(throws: BridgeError.self) { try await transport.connect { _ in } }
        #expect(error?.code == .notConnected)
        #expect(error?.description.contains("127.0.0.1:\(port)") == true)
        let server = try await NATSServer(.init(port: port))
        try await transport.connect { _ in }
        try await transport.publish(try message("x", to: "x"), durable: false)
        try await transport.close(timeout: .patience)
        withExtendedLifetime(server) {}
    }

    /// The C client is still connecting then; what it gets is let go.
    @Test func cancelledConnectReturnsSoon() async throws {
        let server = try HostileServer(greeting: "", afterPing: "")
        var configuration = NATSConfiguration(servers: [server.url])
        configuration.connectTimeout = .seconds(50)
        let transport = NATSTransport(configuration)
        let start = ContinuousClock.now
        let connecting = Task { try await transport.connect { _ in } }
        connecting.cancel()
        await #expect(throws: CancellationError.self) { try await connecting.value }
        #expect(start.duration(to: .now) < .seconds(40))
        server.close()
    }

    @Test func addressThatIsNoneSaysSo() async throws {
        for address in [
            "", "not an address", "nats://127.0.0.1:99999", "nats://127.0.0.1:0", "nats://[::1]:x",
            "nats://127.0.0.1:4222\r\nPUB admin 0",
        ] {
            let transport = NATSTransport(NATSConfiguration(servers: [address]))
            let error = await #expect(throws: BridgeError.self) { try await transport.connect { _ in } }
            #expect(error?.code == .transportFailure, "\(address.debugDescription)")
        }
    }

    @Test func messagesPublishedWhileTheServerIsAwayArriveWhenItIsBack() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let received = try await peer.subscribe(to: "count")
        server.kill()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        for number in 0..<100 { try await peer.publish(String(number), to: "count") }
        try await server.start()
        // A subscription of its own is restored before what waited is sent.
        #expect(await received.wait(count: 100).map(\.text) == (0..<100).map(String.init))
        let events = await peer.events.wait { $0.contains(where: \.isReconnected) }
        guard case .reconnected(let gap, let unsent) = events.last(where: \.isReconnected) else { return }
        #expect(gap > .zero && unsent == 0)
        try await peer.close()
    }

    @Test func fullBufferThrowsInsteadOfGrowing() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.outgoingByteLimit = 10_000 }
        server.kill()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        var taken = 0
        let error = await #expect(throws: BridgeError.self) {
            for _ in 0..<1_000 {
                try await peer.publish(String(repeating: "x", count: 100), to: "count")
                taken += 1
            }
        }
        #expect(error?.code == .bufferFull)
        #expect((50...100).contains(taken))
        // Nobody is there to send it to, and the time is up: what waited is lost, and said to be.
        let closed = await #expect(throws: BridgeError.self) {
            try await peer.transport.close(timeout: .milliseconds(50))
        }
        #expect(closed?.code == .closingTimedOut)
    }

    @Test func publisherWaitsWhileTheBufferIsFullAndTheConnectionStands() async throws {
        let server = try await NATSServer()
        let (sender, receiver) = (
            try await Peer.connect(to: server) { $0.outgoingByteLimit = 2_000 }, try await Peer.connect(to: server)
        )
        let received = try await receiver.subscribe(to: "count")
        for number in 0..<5_000 { try await sender.publish(String(number), to: "count") }
        #expect(await received.wait(count: 5_000).map(\.text) == (0..<5_000).map(String.init))
        try await sender.close()
        try await receiver.close()
    }

    /// As when accounts are being moved: waiting mends it, so it is an outage.
    @Test func credentialsThatAreRefusedForAWhileAreAnOutage() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.authentication = .password(user: "till", password: "secret")
        }
        let received = try await peer.subscribe(to: "count")
        server.kill()
        try await server.start("authorization { user: till, password: other }")
        await peer.events.wait { $0.contains { $0.failure?.code == .authenticationFailed } }
        try await peer.publish("meanwhile", to: "count")
        server.kill()
        try await server.start("authorization { user: till, password: secret }")
        #expect(await received.wait(count: 1).map(\.text) == ["meanwhile"])
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        // Once, however often it was tried.
        #expect(peer.events.all.filter { $0.failure?.code == .authenticationFailed }.count == 1)
        #expect(!peer.events.all.contains { $0.isClosed })
        try await peer.close()
    }

    @Test func sizeThatTheServerTakesIsThatOfTheCurrentConnection() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let received = try await peer.subscribe(to: "big")
        let text = String(repeating: "x", count: 10_000)
        try await peer.publish(text, to: "big")
        await received.wait(count: 1)
        server.kill()
        try await server.start("max_payload: 1000")
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        let error = await #expect(throws: BridgeError.self) { try await peer.publish(text, to: "big") }
        #expect(error?.code == .payloadTooLarge)
        server.kill()
        try await server.start()
        await peer.events.wait { $0.filter(\.isReconnected).count == 2 }
        try await peer.publish(text, to: "big")
        await received.wait(count: 2)
        try await peer.close()
    }

    @Test func subscriptionMadeWithoutAConnectionBeginsWithTheNext() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        server.kill()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        let received = try await peer.subscribe(to: "count")
        try await server.start()
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        try await peer.publish("1", to: "count")
        #expect(await received.wait(count: 1).map(\.text) == ["1"])
        try await peer.close()
    }

    /// It is longer than the server's, which ends the connection of a client that does not read.
    @Test func writeTimeoutIsLongerThanTheServers() {
        #expect(NATSConfiguration().writeTimeout > .seconds(10))
    }

    /// A server that is paused looks like a slow one: nothing fails, and nothing blocks a thread of the pool,
    /// which the actor shows.
    @Test func pausedServerHoldsUpNobodyButThePublisher() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.outgoingByteLimit = 64 * 1_024 }
        let received = try await peer.subscribe(to: "big")
        server.pause()
        let body = [UInt8](repeating: 7, count: 50_000)
        let sent = Atomic<Int>(0)
        let publishing = Task {
            for _ in 0..<400 {
                try await peer.transport.publish(try TransportMessage(subject: "big", body: body), durable: false)
                sent.add(1, ordering: .relaxed)
            }
        }
        // As many tasks as there can be threads, and more.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask { await #expect(throws: BridgeError.self) { try await ask(peer, number) } }
            }
            try await group.waitForAll()
        }
        #expect(sent.load(ordering: .relaxed) < 400)
        server.resume()
        try await publishing.value
        await received.wait(count: 400)
        try await peer.close()
    }

    @Test func bridgeOfAPausedServerIsReconnectingUntilTheServerIsBack() async throws {
        let server = try await NATSServer()
        var configuration = NATSConfiguration(servers: [server.url])
        (configuration.pingInterval, configuration.reconnectWait) = (.milliseconds(50), .milliseconds(20))
        let bridge = Bridge(
            "till",
            switchboard: Switchboard(onFault: { _ in }),
            transport: NATSTransport(configuration),
            routes: [.incoming(.natsSale)],
            configuration: .patient
        )
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        server.pause()
        _ = await bridge.status.first { $0.phase == .reconnecting }
        server.resume()
        _ = await bridge.status.first { $0.isReady }
        running.cancel()
        try await running.value
    }

    private func ask(_ peer: Peer, _ number: Int) async throws {
        _ = try await peer.transport.request(try message(String(number), to: "nobody"), timeout: .milliseconds(100))
    }

    @Test func serverThatIsPausedForTooLongIsLeftAndFoundAgain() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) { $0.pingInterval = .milliseconds(50) }
        server.pause()
        await peer.events.wait { $0.contains(where: \.isDisconnected) }
        server.resume()
        await peer.events.wait { $0.contains(where: \.isReconnected) }
        let received = try await peer.subscribe(to: "again")
        // On a loaded machine, it may look paused again.
        while received.count == 0 {
            try Task.checkCancellation()
            try await peer.publish("x", to: "again")
            await Task.yield()
        }
        try await peer.close()
    }

    @Test func nothingAcknowledgedIsLostWhenTheServerIsKilledInMidStream() async throws {
        let server = try await NATSServer()
        let withStream: (inout NATSConfiguration) -> Void = {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.retryInterval = .milliseconds(200)
            $0.acknowledgementTimeout = .patience
            $0.deliveries.acknowledgementWait = .seconds(1)
        }
        let (sender, receiver) = (
            try await Peer.connect(to: server, withStream), try await Peer.connect(to: server, withStream)
        )
        let received = Recorder<String>()
        try await receiver.transport.subscribe(to: "shop.>", durableName: "kitchen") { message in
            received.record(message.text)
            message.settle?(.acknowledged)
        }
        let acknowledged = Recorder<String>()
        let publishing = Task {
            for number in 0..<600 {
                try await sender.publish(String(number), to: "shop.sale", id: "id \(number)", durable: true)
                acknowledged.record(String(number))
            }
        }
        for count in [100, 300] {
            await acknowledged.wait(count: count)
            server.kill()
            try await server.start()
        }
        try await publishing.value
        let texts = await received.wait { Set($0).count == 600 }
        #expect(Set(acknowledged.all).isSubset(of: Set(texts)))
        try await sender.close()
        try await receiver.close()
    }

    @Test func messageOverTheLimitIsRefusedAndTheConnectionStays() async throws {
        let server = try await NATSServer(.init(configuration: "max_payload: 1000"))
        let peer = try await Peer.connect(to: server) { $0.streams = [NATSStream("X", subjects: ["x"])] }
        let received = try await peer.subscribe(to: "x")
        try await peer.transport.publish(
            try TransportMessage(subject: "x", body: [UInt8](repeating: 1, count: 1_000)),
            durable: false
        )
        for durable in [false, true] {
            let error = await #expect(throws: BridgeError.self) {
                try await peer.transport.publish(
                    try TransportMessage(subject: "x", body: [UInt8](repeating: 1, count: 1_001)),
                    durable: durable
                )
            }
            #expect(error?.code == .payloadTooLarge)
        }
        // The headers count.
        let withHeaders = try TransportMessage(
            subject: "x",
            headers: ["a": "b"],
            body: [UInt8](repeating: 1, count: 1_000)
        )
        let error = await #expect(throws: BridgeError.self) {
            try await peer.transport.publish(withHeaders, durable: false)
        }
        #expect(error?.code == .payloadTooLarge)
        try await peer.publish("small", to: "x")
        #expect(await received.wait(count: 2).dropFirst().first?.text == "small")
        #expect(!peer.events.all.contains { $0.isDisconnected })
        try await peer.close()
    }

    /// Bounded in messages, and in bytes: of 2,000 each, there is room for a few.
    @Test(arguments: [(10, Int.max), (1_000_000, 20_000)])
    func slowConsumerIsCountedExactly(_ limit: Int, _ byteLimit: Int) async throws {
        let server = try await NATSServer()
        let sender = try await Peer.connect(to: server)
        // How many messages each call of a handler accounts for.
        let accounted = Recorder<Int>()
        let receiver = try await Peer.connect(to: server) {
            ($0.incomingLimit, $0.incomingByteLimit) = (limit, byteLimit)
        } onEvent: { event in
            accounted.record(event.droppedCount)
        }
        // Holds up a thread of the C client, which a handler must not do: that is what makes it slow.
        let gate = DispatchSemaphore(value: 0)
        let received = Recorder<String>()
        try await receiver.transport.subscribe(to: "flood", durableName: nil) { message in
            gate.wait()
            gate.signal()
            received.record(String(message.text.prefix { $0 != " " }))
            accounted.record(1)
        }
        let rest = String(repeating: " ", count: 2_000)
        for number in 0..<1_000 { try await sender.publish(String(number) + rest, to: "flood") }
        // The answer of the server to this one says that all the others have been sent on, and its own
        // arrival that they have been read.
        let marker = try await receiver.subscribe(to: "marker")
        try await sender.publish("", to: "marker")
        await marker.wait(count: 1)
        gate.signal()
        await accounted.wait { $0.reduce(0, +) >= 1_000 }
        let events = receiver.events.all
        #expect(events.reduce(0) { $0 + $1.droppedCount } + received.count == 1_000)
        #expect(events.allSatisfy { if case .slowConsumer(let pattern, _) = $0 { pattern == "flood" } else { true } })
        let numbers = received.all.compactMap(Int.init)
        #expect(numbers == numbers.sorted() && numbers.count < 1_000)
        try await sender.close()
        try await receiver.close()
    }

    @Test func closeWhileBusyEndsEverythingAndCallsNoHandlerAfterwards() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server) {
            $0.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            $0.outgoingByteLimit = 10_000
        }
        let isClosed = Atomic<Bool>(false)
        let lateCalls = Atomic<Int>(0)
        let received = Recorder<Int>()
        for (index, durableName) in [nil, "kitchen"].enumerated() {
            try await peer.transport.subscribe(to: "shop.>", durableName: durableName) { message in
                if isClosed.load(ordering: .sequentiallyConsistent) { lateCalls.add(1, ordering: .relaxed) }
                received.record(index)
                message.settle?(.acknowledged)
            }
        }
        try await peer.transport.respond(to: "shop.silence") { _ in }
        let work = (0..<16).map { number in
            Task {
                while true {
                    // Publishing waits only where the buffer is full, and the other tests need threads, too.
                    await Task.yield()
                    switch number % 3 {
                    case 0: try await peer.publish("x", to: "shop.sale")
                    case 1: try await peer.publish("x", to: "shop.sale", durable: true)
                    default:
                        _ = try await peer.transport.request(
                            try message("x", to: "shop.silence"),
                            timeout: .seconds(60)
                        )
                    }
                }
            }
        }
        await received.wait { $0.count > 200 && $0.contains(0) && $0.contains(1) }
        try? await peer.transport.close(timeout: .seconds(2))
        isClosed.store(true, ordering: .sequentiallyConsistent)
        for task in work {
            let error = await #expect(throws: BridgeError.self) { try await task.value }
            #expect([.closed, .notConnected].contains(error?.code))
        }
        #expect(lateCalls.load(ordering: .relaxed) == 0)
    }
}

extension TransportEvent {
    fileprivate var droppedCount: Int { if case .slowConsumer(_, let dropped) = self { dropped } else { 0 } }
}
#endif
