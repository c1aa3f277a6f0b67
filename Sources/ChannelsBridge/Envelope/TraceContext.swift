/// The trace to which a message belongs, as W3C Trace Context writes it. It travels with messages and is of
/// no account to the bridge itself.
///
/// A message posted in a task in which ``current`` is bound carries it to the other processes. There it is
/// bound while the message is delivered: synchronous listeners without an isolation of their own, responders,
/// and what they post, see it; a listener with a mailbox does not.
///
/// ```swift
/// try TraceContext.$current.withValue(TraceContext(traceparent: parent)) { board[.sold].post(sale) }
/// ```
public struct TraceContext: Hashable, Sendable {
    /// The trace of the task.
    @TaskLocal public static var current: TraceContext?

    /// The header `traceparent`: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
    public let traceparent: String
    /// The header `tracestate`, if there is one.
    public let tracestate: String?

    /// Creates a context from header values, which are not looked into.
    ///
    /// - Throws: ``BridgeError/Code/invalidHeader`` where one has control characters.
    public init(traceparent: String, tracestate: String? = nil) throws {
        var headers = TransportHeaders()
        try headers.set(traceparent, for: EventEnvelope.Header.traceparent)
        if let tracestate { try headers.set(tracestate, for: EventEnvelope.Header.tracestate) }
        self.init(valid: traceparent, tracestate)
    }

    init(valid traceparent: String, _ tracestate: String?) {
        self.traceparent = traceparent
        self.tracestate = tracestate
    }
}

extension TraceContext {
    /// Runs a body in the trace of a message, if it has one.
    static func withCurrent<Result>(_ trace: TraceContext?, _ body: () async throws -> Result) async rethrows -> Result
    {
        guard let trace else { return try await body() }
        return try await $current.withValue(trace) { try await body() }
    }
}
