#if Observability
public import Channels
internal import ChannelsBridge
public import Tracing

/// Creates spans for posts and listener calls, across lanes and bridges.
///
/// ```swift
/// board.diagnostics = .trace
/// let spans = board.addInstrument(ChannelSpans())
/// ```
///
/// A post has a span (`post shop.sold`), which is a child of the span in which the post is made. Each
/// listener call also has a span (`receive shop.sold`), which is a child of the post's span wherever the call
/// runs: before `post` returns, later in a lane, or as an async closure. Inside the listener,
/// `ServiceContext.current` belongs to its span, so its posts continue the trace. A sequence has no calls,
/// and so no spans.
///
/// A bridge carries the trace in the headers `traceparent` and `tracestate`, if the tracer writes them (W3C
/// Trace Context); in the other process, the post's span is a child of the span here. The bridge needs no
/// configuration.
public struct ChannelSpans: ChannelInstrument {
    private let chosen: (any Tracer)?

    private var tracer: any Tracer { chosen ?? InstrumentationSystem.tracer }

    /// Creates the instrument.
    ///
    /// - Parameter tracer: The tracer; by default the process-wide one, which is looked up at each post.
    public init(_ tracer: (any Tracer)? = nil) { chosen = tracer }

    /// Delivers within the span of the post.
    public func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {
        within(start(post, tracer), tracer, deliver)
    }

    /// Calls the listener within its span.
    public func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        within(start(delivery, tracer), tracer) { _ in call() }
    }

    /// Awaits the listener within its span.
    public func deliver(
        _ delivery: DeliveryEvent,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async {
        let tracer = tracer
        let span = start(delivery, tracer)
        defer { span.end() }
        await ServiceContext.withValue(span.context) {
            _ = isolation
            await TraceContext.$current.withValue(TraceContext(of: span.context, tracer)) {
                _ = isolation
                await call()
            }
        }
    }

    private func within(_ span: any Span, _ tracer: any Tracer, _ body: (_ context: ServiceContext) -> Void) {
        defer { span.end() }
        ServiceContext.withValue(span.context) {
            TraceContext.$current.withValue(TraceContext(of: span.context, tracer)) { body(span.context) }
        }
    }

    // MARK: Spans

    private func start(_ post: PostEvent, _ tracer: some Tracer) -> any Span {
        var context = ServiceContext.current ?? .topLevel
        // The bridge delivers in its own task, in which only the trace of the message is bound.
        if case .remote = post.origin, let trace = TraceContext.current {
            tracer.extract(trace.headers, into: &context, using: Headers())
        }
        let span = tracer.startSpan(
            "post \(post.channelName)",
            context: context,
            ofKind: post.origin == .local ? .producer : .consumer
        )
        span.attributes["channels.channel"] = post.channelName
        span.attributes["channels.kind"] = post.channelKind.description
        if let sender = post.senderType { span.attributes["channels.sender"] = sender }
        if case .remote(let process) = post.origin { span.attributes["channels.origin"] = process }
        return span
    }

    private func start(_ delivery: DeliveryEvent, _ tracer: some Tracer) -> any Span {
        let span = tracer.startSpan(
            "receive \(delivery.post.channelName)",
            context: delivery.context as? ServiceContext ?? .topLevel,
            ofKind: .consumer
        )
        span.attributes["channels.channel"] = delivery.post.channelName
        span.attributes["channels.delivery"] = delivery.deliveryKind.description
        span.attributes["channels.site"] = "\(delivery.registrationSite)"
        if let owner = delivery.ownerType { span.attributes["channels.owner"] = owner }
        span.attributes["channels.waited_ns"] = delivery.waitTime.limitInNanoseconds
        return span
    }
}

/// Reads and writes the headers of a trace.
private struct Headers: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }

    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key.lowercased()] = value
    }
}

extension TraceContext {
    /// Creates the trace of a context; nil if the tracer writes no `traceparent`.
    fileprivate init?(of context: ServiceContext, _ tracer: any Tracer) {
        var headers: [String: String] = [:]
        tracer.inject(context, into: &headers, using: Headers())
        guard let parent = headers["traceparent"],
            let trace = try? TraceContext(traceparent: parent, tracestate: headers["tracestate"])
        else { return nil }
        self = trace
    }

    fileprivate var headers: [String: String] {
        var headers = ["traceparent": traceparent]
        headers["tracestate"] = tracestate
        return headers
    }
}
#endif
