internal import Channels
public import ChannelsBridge

/// The checks that a `Transport` has to pass, for its author to run.
///
/// ```swift
/// @Test(arguments: TransportConformance.checks)
/// func myTransportConforms(to check: TransportConformance.Check) async {
///     let suite = TransportConformance { MyTransport(server: url) }
///     let outcome = await suite.run(check)
///     #expect(outcome.isAcceptable, "\(outcome)")
/// }
/// ```
///
/// It uses no test framework. Each check makes transports of its own, on subjects of its own that begin with
/// `prefix`, closes them, and needs nothing of the broker but that it is there. What a transport says it
/// cannot do (`TransportCapabilities`) is skipped.
public struct TransportConformance: Sendable {
    /// Makes a transport that is not connected, always to the same broker.
    public typealias MakeTransport = @Sendable () async throws -> any Transport
    /// Breaks the connection of a transport, runs the body and restores the connection; returns when it is
    /// restored.
    public typealias Interrupt =
        @Sendable (_ transport: any Transport, _ body: @Sendable () async throws -> Void) async throws -> Void

    /// One check.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// What is checked, as a sentence: `messagesOfOnePublisherArriveInOrder`.
        public let name: String
        /// What the transport has to be able to do for it.
        public let needs: TransportCapabilities
        /// Whether it needs a way to break the connection.
        public let interrupts: Bool
        let body: @Sendable (ConformanceRun) async throws -> Void

        /// The name.
        public var description: String { name }

        /// Whether both have the same name.
        public static func == (left: Check, right: Check) -> Bool { left.name == right.name }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// How a check went.
    public struct Outcome: Sendable, CustomStringConvertible {
        /// The check.
        public let check: Check
        /// Why it was not run; nil where it was.
        public let skipped: String?
        /// What was wrong; empty where nothing was.
        public let failures: [String]

        /// Whether nothing was wrong, or it was not run because the transport does not claim what it needs.
        public var isAcceptable: Bool { failures.isEmpty }

        /// One line, and one for each failure.
        public var description: String {
            if let skipped { return "\(check): skipped, \(skipped)" }
            return failures.isEmpty
                ? "\(check): passed" : (["\(check): failed"] + failures.map { "  \($0)" }).joined(separator: "\n")
        }
    }

    /// Every check there is.
    public static let checks: [Check] =
        connectionChecks + messageChecks + durableChecks + requestChecks + lastValueChecks + interruptionChecks

    let makeTransport: MakeTransport
    let interrupt: Interrupt?
    let prefix: String
    let timeout: Duration

    /// Creates a suite.
    ///
    /// - Parameters:
    ///   - prefix: Where the subjects of the checks begin, for brokers that allow some only: one or more
    ///     tokens.
    ///   - timeout: How long a check may take before it counts as failed. More than the broker waits before
    ///     it delivers a message again.
    ///   - interrupt: Breaks a connection for a while; without it, the checks that need it are skipped.
    ///   - makeTransport: Makes a transport that is not connected, always to the same broker.
    public init(
        prefix: String = "conformance",
        timeout: Duration = .seconds(30),
        interrupt: Interrupt? = nil,
        makeTransport: @escaping MakeTransport
    ) {
        self.makeTransport = makeTransport
        self.interrupt = interrupt
        self.prefix = prefix
        self.timeout = timeout
    }

    /// Runs every check, one after the other.
    public func run() async -> [Outcome] {
        var outcomes: [Outcome] = []
        for check in Self.checks { outcomes.append(await run(check)) }
        return outcomes
    }

    /// Runs one check.
    public func run(_ check: Check) async -> Outcome {
        do {
            let missing = check.needs.subtracting(try await makeTransport().capabilities)
            guard missing.isEmpty else {
                return Outcome(check: check, skipped: "the transport lacks \(missing.names)", failures: [])
            }
        } catch {
            return Outcome(check: check, skipped: nil, failures: ["no transport could be made: \(error)"])
        }
        guard !check.interrupts || interrupt != nil else {
            return Outcome(check: check, skipped: "there is no way to break the connection", failures: [])
        }
        let run = ConformanceRun(self)
        let first = FirstResult<Void>()
        // Unstructured, so that a check that hangs can be left behind.
        let task = Task {
            do {
                try await check.body(run)
                first.finish(.success(()))
            } catch {
                first.finish(.failure(error))
            }
        }
        let late = BridgeError(.timedOut, detail: "the check did not end within \(timeout)")
        do {
            try await first.value(within: timeout, clock: ContinuousClock(), else: late)
        } catch {
            task.cancel()
            run.fail("\(error)")
        }
        await run.closeTransports()
        return Outcome(check: check, skipped: nil, failures: run.failures)
    }
}

extension TransportCapabilities {
    fileprivate var names: String {
        let names: [(TransportCapabilities, String)] = [
            (.headers, "headers"), (.durable, "durable messages"), (.requests, "requests"),
            (.lastValues, "last values"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
