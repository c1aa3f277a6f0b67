internal import Channels
internal import ChannelsBridge
internal import Synchronization

/// One run of a check: its transports, its subjects and its failures.
final class ConformanceRun: Sendable {
    /// Guarded by its lock.
    private struct State {
        var transports: [any Transport] = []
        var failures: [String] = []
    }

    private let suite: TransportConformance
    private let token = String(UInt64.random(in: .min ... .max), radix: 36)
    private let state = Locked(State())

    init(_ suite: TransportConformance) {
        self.suite = suite
    }

    var failures: [String] { state.withLock { $0.failures } }
    /// How long a check may take: a call that takes longer than that never ends.
    var timeout: Duration { suite.timeout }

    func fail(_ text: String) {
        state.withLock { $0.failures.append(text) }
    }

    /// Records a failure if a condition does not hold.
    func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { fail(text()) }
    }

    // MARK: Transports

    /// A transport that is not connected.
    func newTransport() async throws -> any Transport {
        let transport = try await suite.makeTransport()
        state.withLock { $0.transports.append(transport) }
        return transport
    }

    /// A transport that is connected.
    func connected(onEvent: @escaping @Sendable (TransportEvent) -> Void = { _ in }) async throws -> any Transport {
        let transport = try await newTransport()
        try await transport.connect(onEvent: onEvent)
        return transport
    }

    /// A transport with other options that is connected.
    func otherConnected() async throws -> any Transport {
        let transport = try await suite.makeOther()
        state.withLock { $0.transports.append(transport) }
        try await transport.connect { _ in }
        return transport
    }

    /// Runs a bridge of this name, and a body once it is ready.
    func running(
        _ name: String,
        _ board: Switchboard,
        _ routes: [BridgeRoute],
        failureLimit: Int = 1,
        _ body: (Bridge) async throws -> Void
    ) async throws {
        let configuration = BridgeConfiguration(
            deadLetters: subject("dead"),
            failureLimit: failureLimit,
            backoff: Backoff(first: .milliseconds(1), limit: .milliseconds(1))
        )
        let bridge = Bridge(
            name,
            switchboard: board,
            transport: try await newTransport(),
            routes: routes,
            configuration: configuration
        )
        let running = Task { try await bridge.run() }
        let result: Result<Void, any Error>
        do {
            try await bridge.waitUntilReady()
            result = .success(try await body(bridge))
        } catch { result = .failure(error) }
        running.cancel()
        _ = await running.result
        try result.get()
    }

    /// Repeats a call until the broker takes it.
    func untilDone(_ call: () async throws -> Void) async throws {
        while true {
            do { return try await call() } catch let error as BridgeError where error.code.disposition == .wait {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    func closeTransports() async {
        for transport in state.withLock({ $0.transports }) { try? await transport.close(timeout: .seconds(5)) }
    }

    /// Breaks the connection while a body runs.
    func interrupt(_ transport: any Transport, _ body: @escaping @Sendable () async throws -> Void) async throws {
        // Checks that break the connection are run only if there is a way to do so.
        guard let interrupt = suite.interrupt else {
            throw BridgeError(.unsupported, detail: "no way to break the connection")
        }
        try await interrupt(transport, body)
    }

    /// Puts back what the broker stored before a body ran.
    func rollBack(_ body: @escaping @Sendable () async throws -> Void) async throws {
        guard let rollBack = suite.rollBack else {
            throw BridgeError(.unsupported, detail: "no way to put an older copy back")
        }
        try await rollBack(body)
    }

    /// The hooks of a check that requires them.
    var transactions: TransportConformance.Transactions {
        get throws {
            guard let transactions = suite.transactions else {
                throw BridgeError(.unsupported, detail: "there are no transactions")
            }
            return transactions
        }
    }

    // MARK: Messages

    /// A subject of this run only.
    func subject(_ rest: String) -> String { "\(suite.prefix).\(token).\(rest)" }

    /// A pattern of this run only.
    func pattern(_ rest: String) throws -> ChannelPattern { try ChannelPattern(validating: subject(rest)) }

    /// A durable name of this run only.
    func durableName(_ rest: String) -> String { "\(rest)-\(token)" }

    func message(_ rest: String, _ text: String, headers: TransportHeaders = [:]) throws -> TransportMessage {
        try TransportMessage(subject: subject(rest), headers: headers, body: Array(text.utf8))
    }

    /// Publishes texts, one after the other.
    func publish(_ texts: some Sequence<String>, to rest: String, durable: Bool = false, on transport: any Transport)
        async throws
    {
        for text in texts { try await transport.publish(try message(rest, text), durable: durable) }
    }

    /// Expects an error with one of some codes.
    func expectError(_ codes: Set<BridgeError.Code>, _ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            fail("\(what) did not throw")
        } catch let error as BridgeError {
            expect(
                codes.contains(error.code),
                "\(what) threw \(error), not \(codes.map(\.description).sorted().joined(separator: " or "))"
            )
        } catch {
            fail("\(what) threw \(error), which is no BridgeError")
        }
    }
}

extension TransportMessage {
    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension TransportReply {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Distinct texts.
func numbered(_ count: Int, from first: Int = 0) -> [String] {
    (first..<first + count).map { "message \($0)" }
}

extension TransportConformance {
    static func check(
        _ name: String,
        needs: TransportCapabilities = [],
        requires requirement: Requirement? = nil,
        _ body: @escaping @Sendable (ConformanceRun) async throws -> Void
    ) -> Check {
        Check(name: name, needs: needs, requirement: requirement, body: body)
    }
}
