/// The trace of a message, in the format of W3C Trace Context.
///
/// A bridge carries it without interpreting it.
///
/// If ``current`` is bound in a task, messages posted there carry it to other processes. In those processes,
/// ``current`` is bound while the message is delivered: synchronous nonisolated listeners, responders, and the
/// messages that they post see it; listeners with a mailbox do not.
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

    /// Creates a context from header values, whose content is not validated further.
    ///
    /// - Throws: ``BridgeError/Code/invalidHeader`` if one is not valid as a header value.
    public init(traceparent: String, tracestate: String? = nil) throws {
        try TransportHeaders.check(traceparent, for: EventEnvelope.Header.traceparent)
        if let tracestate { try TransportHeaders.check(tracestate, for: EventEnvelope.Header.tracestate) }
        self.init(valid: traceparent, tracestate)
    }

    init(valid traceparent: String, _ tracestate: String?) {
        self.traceparent = traceparent
        self.tracestate = tracestate
    }

    /// Adds the headers, which must not be set.
    func add(to headers: inout TransportHeaders) {
        headers.append(valid: traceparent, for: EventEnvelope.Header.traceparent)
        if let tracestate { headers.append(valid: tracestate, for: EventEnvelope.Header.tracestate) }
    }
}

extension TraceContext {
    /// Runs a body with ``current`` bound to the trace of a message, if it has one.
    static func withCurrent<Result>(_ trace: TraceContext?, _ body: () async throws -> Result) async rethrows -> Result
    {
        guard let trace else { return try await body() }
        return try await $current.withValue(trace) { try await body() }
    }
}
