#if Observability
import Channels
import ChannelsBridge
import InMemoryTracing
import Tracing

@_exported public import TestSupport

struct Sale: Codable, Hashable, Sendable {
    var total: Int
}

struct Broken: Error {}

extension ChannelName<Sale> {
    static var sold: Self { "shop.sold" }
}

/// A tracer that keeps its spans, and carries them in the headers of W3C Trace Context.
struct HeaderTracer: Tracer {
    let memory = InMemoryTracer(idGenerator: .init(nextTraceID: { hexadecimal(16) }, nextSpanID: { hexadecimal(8) }))

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        memory.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-") ?? []
        guard parts.count == 4 else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]),
            spanID: String(parts[2]),
            parentSpanID: nil
        )
    }

    func span(_ name: String) -> FinishedInMemorySpan? { memory.finishedSpans.first { $0.operationName == name } }
}

private func hexadecimal(_ bytes: Int) -> String {
    (0..<bytes).map { _ in
        let text = String(UInt8.random(in: 0...255), radix: 16)
        return text.count == 1 ? "0" + text : text
    }.joined()
}
#endif
