import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsTesting
import Synchronization
import Testing

/// The code of the guides, run.
@Suite(.hangLimit)
struct GuideTests {
    @Test func severalSwitchboardsInOneProcess() async throws {
        let tillBoard = Switchboard()
        let kitchenBoard = Switchboard()
        let heard = Recorder<Sale>()
        let token = kitchenBoard[.sold].listen { sale in heard.record(sale) }
        let running = Task {
            let broker = InMemoryBroker()
            let till = Bridge(
                "till",
                switchboard: tillBoard,
                transport: InMemoryTransport(broker),
                routes: [.outgoing(.sold)]
            )
            let kitchen = Bridge(
                "kitchen",
                switchboard: kitchenBoard,
                transport: InMemoryTransport(broker),
                routes: [.incoming(.sold)]
            )
            async let tillRuns: Void = till.run()
            async let kitchenRuns: Void = kitchen.run()
            _ = await kitchen.status.first { $0.isReady }
            tillBoard[.sold].post(Sale(total: 12))
            _ = try await (tillRuns, kitchenRuns)
        }
        #expect(await heard.first(1) == [Sale(total: 12)])
        running.cancel()
        try await running.value
        withExtendedLifetime(token) {}
    }

    /// One of three is killed: nobody says so.
    @Test func presenceEndsWithItsProcess() async throws {
        let (broker, time) = (InMemoryBroker(), TestTime())
        let till = await PresentProcess("till", InMemoryTransport(broker), time)
        let kitchen = await PresentProcess("kitchen", InMemoryTransport(broker), time)
        let transport = InMemoryTransport(broker)
        let killed = await PresentProcess("killed", transport, time)
        let all = [till, kitchen, killed]
        for beat in 1...3 {
            #expect(till.present == (beat < 3 ? [] : ["till", "kitchen", "killed"]))
            for process in all { process.beat() }
            for reader in all { await reader.hears(beat, of: ["till", "kitchen", "killed"]) }
            if beat < 3 { time.advance(by: .seconds(5)) }
        }
        transport.breakConnection()
        for beat in 4...6 {
            time.advance(by: .seconds(5))
            for process in [till, kitchen] { process.beat() }
            for reader in [till, kitchen] { await reader.hears(beat, of: ["till", "kitchen"]) }
            for reader in [till, kitchen] {
                #expect(reader.present == (beat < 6 ? ["till", "kitchen", "killed"] : ["till", "kitchen"]))
            }
        }
        // It finds the last beat of the killed one.
        let late = await PresentProcess("late", InMemoryTransport(broker), time)
        #expect(late.process.board.state(ifMade: "presence.killed", of: Presence.self)?.value.beat == 3)
        #expect(late.present == [])
        for process in [till, kitchen] { process.beat() }
        await late.hears(7, of: ["till", "kitchen"])
        #expect(late.present == ["till", "kitchen"])
        // It comes back, and goes on from its last beat.
        transport.restoreConnection()
        for process in [till, kitchen, late, killed] { try await process.process.stop() }
        let again = await PresentProcess("killed", InMemoryTransport(broker), time)
        again.beat()
        await again.hears(4, of: ["killed"])
        try await again.process.stop()
    }

    /// A transport with the least there can be: at most once.
    actor LeastTransport: Transport {
        nonisolated let capabilities: TransportCapabilities = []
        private let client: InMemoryTransport

        init(_ broker: InMemoryBroker) { client = InMemoryTransport(broker) }

        func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
            try await client.connect(onEvent: onEvent)
        }

        func publish(_ message: TransportMessage, durable: Bool) async throws {
            guard !durable else { throw BridgeError(.unsupported, subject: message.subject) }
            try await client.publish(message, durable: false)
        }

        func subscribe(
            _ subscription: TransportSubscription,
            onMessage: @escaping @Sendable (InboundMessage) -> Void
        ) async throws {
            try await client.subscribe(to: subscription.pattern, onMessage: onMessage)
        }

        func close(timeout: Duration) async throws { try await client.close(timeout: timeout) }
    }

    @Test(arguments: TransportConformance.checks)
    func aTransportWithTheLeastConforms(to check: TransportConformance.Check) async {
        let broker = InMemoryBroker()
        let outcome = await TransportConformance(timeout: .patience) { LeastTransport(broker) }.run(check)
        #expect(outcome.isAcceptable, "\(outcome)")
        #expect((outcome.skipped != nil) == (!check.needs.isEmpty || check.requirement != nil))
    }

    @Test func aTransportWithTheLeastRefusesTheRest() async throws {
        let transport = LeastTransport(InMemoryBroker())
        try await transport.connect { _ in }
        let message = try TransportMessage(subject: "a", body: [])
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await transport.request(message, timeout: .seconds(1)) },
            { try await transport.respond(to: "a") { _ in } },
            { _ = try await transport.store(message) },
            { try await transport.watch("a") { _ in } },
        ]
        for call in calls { await #expect { try await call() } throws: { ($0 as? BridgeError)?.code == .unsupported } }
        try await transport.close(timeout: .seconds(1))
    }
}

/// A process that beats, and knows who else does.
private final class PresentProcess: Sendable {
    let process: MiniProcess
    private let own: StateChannel<Presence>
    private let time: TestTime
    private let attendance: Attending

    /// What its listener writes.
    private final class Attending: Sendable {
        let attendance = Mutex(Attendance())
        let heard = Recorder<String>()
        let tokens = Recorder<ListenerToken>()
    }

    init(_ name: String, _ transport: any Transport, _ time: TestTime) async {
        let attending = Attending()
        let routes: [BridgeRoute] = [.both(statesMatching: "presence.*", of: Presence.self)]
        process = await MiniProcess(name, transport, routes) { board, _ in
            let token = board[matching: "presence.*"].listen { post in
                guard let presence = post.message as? Presence, let name = post.channelName else { return }
                attending.attendance.withLock { $0.hear(presence.beat, of: name, at: time.now) }
                attending.heard.record("\(name) \(presence.beat)")
            }
            attending.tokens.record(token)
        }
        let state = try? StateName<Presence>(validating: "presence.\(name)")
        own = process.board.state(state ?? "presence.unnamed", initial: Presence())
        (self.time, attendance) = (time, attending)
    }

    func beat() { own.update { $0.beat += 1 } }

    func hears(_ beat: Int, of names: [String]) async {
        await attendance.heard.wait { heard in names.allSatisfy { heard.contains("presence.\($0) \(beat)") } }
    }

    /// Without the prefix.
    var present: Set<String> {
        let names = attendance.attendance.withLock { $0.present(at: time.now) }
        return Set(names.map { String($0.dropFirst("presence.".count)) })
    }
}
