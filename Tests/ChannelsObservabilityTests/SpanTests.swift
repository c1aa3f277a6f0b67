#if Observability
import Channels
import ChannelsBridge
import ChannelsDiagnostics
import ChannelsObservability
import ChannelsTesting
import Dispatch
import InMemoryTracing
import Testing
import Tracing

@Suite(.hangLimit)
struct SpanTests {
    let tracer = HeaderTracer()
    let board = Switchboard(onFault: { _ in }, diagnostics: .trace)

    @Test func aListenersSpanIsAChildOfThePostsWithinItsCaller() throws {
        let spans = board.addInstrument(ChannelSpans(tracer))
        let token = board[.sold].listen { _ in }
        tracer.withSpan("request") { _ in _ = board[.sold].post(Sale(total: 1)) }
        let request = try #require(tracer.span("request"))
        let post = try #require(tracer.span("post shop.sold"))
        let hear = try #require(tracer.span("receive shop.sold"))
        #expect(post.parentSpanID == request.spanID)
        #expect(hear.parentSpanID == post.spanID)
        #expect(Set([request, post, hear].map(\.traceID)).count == 1)
        #expect(post.kind == .producer && hear.kind == .consumer)
        withExtendedLifetime((spans, token)) {}
    }

    @Test func listenersOnQueuesActorsAndInTasksRunWithinTheirSpans() async throws {
        let spans = board.addInstrument(ChannelSpans(tracer))
        let seen = Recorder<String?>()
        let screen = await Screen(seen)
        let tokens = [
            board[.sold].listen(on: DispatchQueue(label: "spans")) { _ in seen.record(currentSpan) },
            board[.sold].listen { _ in
                await Task.yield()
                seen.record(currentSpan)
            },
        ]
        await screen.listen(to: board)
        await board[.sold].postAndWait(Sale(total: 1))
        let post = try #require(tracer.span("post shop.sold"))
        let heard = tracer.memory.finishedSpans.filter { $0.operationName == "receive shop.sold" }
        #expect(heard.count == 3)
        #expect(heard.allSatisfy { $0.parentSpanID == post.spanID && $0.traceID == post.traceID })
        #expect(Set(seen.all) == Set(heard.map(\.spanID)))
        withExtendedLifetime((spans, tokens, screen)) {}
    }

    @Test func whatAListenerInALanePostsContinuesTheTrace() async throws {
        let spans = board.addInstrument(ChannelSpans(tracer))
        let done = Gate()
        let tokens = [
            board[.sold].listen(on: DispatchQueue(label: "spans")) { [board] sale in
                board.channel(ChannelName<Sale>("shop.onward")).post(sale)
            },
            board.channel(ChannelName<Sale>("shop.onward")).listen { _ in done.open() },
        ]
        board[.sold].post(Sale(total: 1))
        await done.wait()
        await board[.sold].postAndWait(Sale(total: 2))
        let first = try #require(tracer.span("receive shop.sold"))
        let onward = try #require(tracer.span("post shop.onward"))
        #expect(onward.parentSpanID == first.spanID && onward.traceID == first.traceID)
        withExtendedLifetime((spans, tokens)) {}
    }

    /// Two processes in miniature: each has a switchboard, a bridge and a tracer of its own.
    @Test func aTraceGoesOverABridgeToListenersInLanes() async throws {
        let broker = InMemoryBroker()
        let there = Switchboard(onFault: { _ in }, diagnostics: .trace)
        let otherTracer = HeaderTracer()
        let spans = [board.addInstrument(ChannelSpans(tracer)), there.addInstrument(ChannelSpans(otherTracer))]
        let heard = Gate()
        let token = there[.sold].listen(on: DispatchQueue(label: "there")) { _ in heard.open() }
        let bridges = [
            Bridge("till", switchboard: board, transport: InMemoryTransport(broker), routes: [.outgoing(.sold)]),
            Bridge("office", switchboard: there, transport: InMemoryTransport(broker), routes: [.incoming(.sold)]),
        ]
        let running = bridges.map { bridge in Task { try await bridge.run() } }
        // Until the other one has subscribed.
        while !heard.isOpen {
            board[.sold].post(Sale(total: 1))
            await Task.yield()
        }
        for task in running {
            task.cancel()
            try await task.value
        }
        let arrived = try #require(otherTracer.span("post shop.sold"))
        let hear = try #require(otherTracer.span("receive shop.sold"))
        let posts = tracer.memory.finishedSpans.filter { $0.operationName == "post shop.sold" }
        let post = try #require(posts.first { $0.traceID == arrived.traceID })
        #expect(hear.traceID == post.traceID)
        #expect(hear.parentSpanID == arrived.spanID)
        #expect(arrived.parentSpanID == post.spanID)
        #expect(arrived.kind == .consumer)
        withExtendedLifetime((spans, token)) {}
    }
}

/// The span within which the caller runs.
private var currentSpan: String? { ServiceContext.current?.inMemorySpanContext?.spanID }

@MainActor
private final class Screen {
    let seen: Recorder<String?>

    init(_ seen: Recorder<String?>) { self.seen = seen }

    func listen(to board: Switchboard) { board[.sold].listen(self) { me, _ in me.seen.record(currentSpan) } }
}
#endif
