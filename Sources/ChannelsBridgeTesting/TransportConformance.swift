public import Channels
public import ChannelsBridge

/// Checks the conformance of a `Transport`, for its author.
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
/// It works with any test framework. Each check creates and closes its own transports, and uses its own
/// subjects, which begin with `prefix`. It needs only a running broker. Checks of capabilities that the
/// transport does not declare (`TransportCapabilities`) are skipped.
public struct TransportConformance: Sendable {
    /// Creates a transport that is not connected, always to the same broker.
    public typealias MakeTransport = @Sendable () async throws -> any Transport
    /// Breaks the connection of a transport, runs the body, and returns when the connection is restored.
    public typealias Interrupt =
        @Sendable (_ transport: any Transport, _ body: @Sendable () async throws -> Void) async throws -> Void

    /// Takes a copy of what the broker stores, runs the body, and puts the copy back while connections are open.
    ///
    /// The check has subjects of its own, but the broker must not be shared with another check meanwhile.
    public typealias RollBack = @Sendable (_ body: @Sendable () async throws -> Void) async throws -> Void

    /// What a transport offers in its user's own transactions. Each closure begins a transaction, posts or settles the
    /// message in it, and commits it or rolls it back.
    public struct Transactions: Sendable {
        /// The outbox: posts a message.
        public typealias Post =
            @Sendable (_ message: String, _ channel: NamedChannel<String>, _ commits: Bool) async throws -> Void
        /// The inbox: settles a message.
        public typealias Settle = @Sendable (_ post: Posted<String>, _ commits: Bool) async throws -> Void

        let post: Post
        let settle: Settle

        /// Creates the hooks for an outbox and an inbox.
        public init(post: @escaping Post, settle: @escaping Settle) { (self.post, self.settle) = (post, settle) }
    }

    /// What a check needs besides capabilities.
    public enum Requirement: Hashable, Sendable {
        /// The hook `interrupt`.
        case interrupt
        /// The hook `rollBack`.
        case rollBack
        /// The hooks `transactions`.
        case transactions
        /// A transport that is a `MessageStore`.
        case messageStore
    }

    /// One check of the suite.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// The check as a sentence: `messagesOfOnePublisherArriveInOrder`.
        public let name: String
        /// The capabilities that the check needs.
        public let needs: TransportCapabilities
        /// What else the check needs; nil if nothing.
        public let requirement: Requirement?
        let body: @Sendable (ConformanceRun) async throws -> Void

        /// The name.
        public var description: String { name }

        /// Whether two checks have the same name.
        public static func == (left: Check, right: Check) -> Bool { left.name == right.name }

        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// The result of a check.
    public struct Outcome: Sendable, CustomStringConvertible {
        /// The check.
        public let check: Check
        /// Why the check was skipped; nil if it was run.
        public let skipped: String?
        /// The failures; empty if the check passed or was skipped.
        public let failures: [String]

        /// Whether the check passed or was skipped.
        public var isAcceptable: Bool { failures.isEmpty }

        /// One line, and one more for each failure.
        public var description: String {
            if let skipped { return "\(check): skipped, \(skipped)" }
            return failures.isEmpty
                ? "\(check): passed" : (["\(check): failed"] + failures.map { "  \($0)" }).joined(separator: "\n")
        }
    }

    /// All checks.
    public static let checks: [Check] =
        connectionChecks + messageChecks + nameChecks + groupChecks + durableChecks + publishingChecks + replayChecks
        + requestChecks
        + lastValueChecks + storageChecks + interruptionChecks

    let makeTransport: MakeTransport
    let makeOther: MakeTransport
    let interrupt: Interrupt?
    let rollBack: RollBack?
    let transactions: Transactions?
    let prefix: String
    let timeout: Duration

    /// Creates a suite.
    ///
    /// - Parameters:
    ///   - prefix: One or more segments with which all subjects of the checks begin.
    ///   - timeout: How long a check may take before it fails. It must be longer than the time after which
    ///     the broker redelivers an unsettled message.
    ///   - interrupt: Breaks and restores a connection. Without it, the checks that need it are skipped.
    ///   - rollBack: Puts an older copy of the broker's storage back. Without it, the checks that need it are skipped.
    ///   - transactions: An outbox and an inbox. Without them, the checks that need them are skipped.
    ///   - makeOther: Creates a transport with other options, such as limits and times, to the same broker. By default,
    ///     the options are the same.
    ///   - makeTransport: Creates a transport that is not connected, always to the same broker.
    public init(
        prefix: String = "conformance",
        timeout: Duration = .seconds(30),
        interrupt: Interrupt? = nil,
        rollBack: RollBack? = nil,
        transactions: Transactions? = nil,
        makeOther: MakeTransport? = nil,
        makeTransport: @escaping MakeTransport
    ) {
        self.makeTransport = makeTransport
        self.makeOther = makeOther ?? makeTransport
        (self.rollBack, self.transactions) = (rollBack, transactions)
        self.interrupt = interrupt
        self.prefix = prefix
        self.timeout = timeout
    }

    /// Runs all checks, one after the other.
    public func run() async -> [Outcome] {
        var outcomes: [Outcome] = []
        for check in Self.checks { outcomes.append(await run(check)) }
        return outcomes
    }

    private func reasonToSkip(_ requirement: Requirement?, _ transport: any Transport) -> String? {
        switch requirement {
        case .interrupt where interrupt == nil: "there is no way to break the connection"
        case .rollBack where rollBack == nil: "there is no way to put an older copy back"
        case .transactions where transactions == nil: "there are no transactions"
        case .messageStore where !(transport is any MessageStore): "the transport is no MessageStore"
        default: nil
        }
    }

    /// Runs one check.
    public func run(_ check: Check) async -> Outcome {
        do {
            let transport = try await makeTransport()
            let missing = check.needs.subtracting(transport.capabilities)
            guard missing.isEmpty else {
                return Outcome(check: check, skipped: "the transport lacks \(missing.names)", failures: [])
            }
            if let reason = reasonToSkip(check.requirement, transport) {
                return Outcome(check: check, skipped: reason, failures: [])
            }
        } catch {
            return Outcome(check: check, skipped: nil, failures: ["no transport could be made: \(error)"])
        }
        let run = ConformanceRun(self)
        let first = FirstResult<Void>()
        // Unstructured, so that a check that hangs does not stop the suite.
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
            try await first.value(timeout: timeout, clock: ContinuousClock(), else: late)
        } catch {
            task.cancel()
            run.fail("\(error)")
        }
        // Nor does one whose `close` never returns.
        let closed = FirstResult<Void>()
        Task {
            await run.closeTransports()
            closed.finish(.success(()))
        }
        let open = BridgeError(.timedOut, detail: "the transports did not close within \(timeout)")
        do { try await closed.value(timeout: timeout, clock: ContinuousClock(), else: open) } catch {
            run.fail("\(error)")
        }
        return Outcome(check: check, skipped: nil, failures: run.failures)
    }
}

extension TransportCapabilities {
    fileprivate var names: String {
        let names: [(TransportCapabilities, String)] = [
            (.durable, "durable messages"), (.requests, "requests"),
            (.lastValues, "last values"), (.groups, "groups"), (.replay, "replay"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
