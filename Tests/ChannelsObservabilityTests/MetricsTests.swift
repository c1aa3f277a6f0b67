#if Observability
import Channels
import ChannelsBridge
import ChannelsDiagnostics
import ChannelsObservability
import ChannelsTesting
import Dispatch
import Metrics
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite(.hangLimit)
struct MetricsTests {
    let board = Switchboard(onFault: { _ in }, diagnostics: .counts)
    let factory = TestMetrics()

    private func total(_ label: String, _ channel: String = "shop.sold") -> Int64 {
        factory.counterTotal(label: label, dimensions: [("channel", channel)])
    }

    @Test func whatWasAddedSinceTheLastTimeIsHandedOver() {
        let metrics = ChannelMetrics(board, factory: factory)
        let token = board[.sold].listen { _ in }
        for total in 0..<3 { board[.sold].post(Sale(total: total)) }
        metrics.report()
        #expect(total("channels_posts") == 3 && total("channels_delivered") == 3)
        metrics.report()
        board[.sold].post(Sale(total: 3))
        metrics.report()
        #expect(total("channels_posts") == 4 && total("channels_delivered") == 4)
        withExtendedLifetime(token) {}
    }

    /// As a bridge listens to the names of its routes.
    @Test func aPostIsCountedOnceWhateverPatternsHearIt() {
        let metrics = ChannelMetrics(board, factory: factory)
        let token = board[.sold].listen { _ in }
        let patterns = ["shop.sold", "shop.>", "shop.>"].map {
            board[matching: ChannelPattern(stringLiteral: $0)].listen { _ in }
        }
        for total in 0..<3 { board[.sold].post(Sale(total: total)) }
        metrics.report()
        #expect(total("channels_posts") == 3 && total("channels_posts", "shop.>") == 3)
        // By the listener of the channel, and by that of the pattern of this name.
        #expect(total("channels_delivered") == 6 && total("channels_delivered", "shop.>") == 6)
        withExtendedLifetime((token, patterns)) {}
    }

    @Test func aPostThatOnlyAPatternHearsIsCounted() {
        let metrics = ChannelMetrics(board, factory: factory)
        let pattern = board[matching: "shop.sold"].listen { _ in }
        for total in 0..<3 { board[.sold].post(Sale(total: total)) }
        metrics.report()
        #expect(total("channels_posts") == 3 && total("channels_unreceived") == 0)
        let token = board[.sold].listen { _ in }
        metrics.report()
        board[.sold].post(Sale(total: 3))
        metrics.report()
        #expect(total("channels_posts") == 4)
        withExtendedLifetime((pattern, token)) {}
    }

    @Test func countsThatBeganAtZeroAgainAreHandedOverInFull() {
        let metrics = ChannelMetrics(board, factory: factory)
        let token = board[.sold].listen { _ in }
        for total in 0..<3 { board[.sold].post(Sale(total: total)) }
        metrics.report()
        board.diagnostics = .off
        board.diagnostics = .counts
        board[.sold].post(Sale(total: 3))
        metrics.report()
        #expect(total("channels_posts") == 4)
        withExtendedLifetime(token) {}
    }

    @Test func nothingIsHandedOverTwiceWhateverThreadsReport() {
        let metrics = ChannelMetrics(board, factory: factory)
        let token = board[.sold].listen { _ in }
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for total in 0..<200 {
                board[.sold].post(Sale(total: total))
                metrics.report()
            }
        }
        metrics.report()
        #expect(total("channels_posts") == 800 && total("channels_delivered") == 800)
        withExtendedLifetime(token) {}
    }

    @Test func whatWaitsIsAGaugeOfTheChannelAndOfTheLane() throws {
        let metrics = ChannelMetrics(board, factory: factory)
        let queue = DispatchQueue(label: "metrics.queue")
        queue.suspend()
        let token = board[.sold].listen(on: queue) { _ in }
        for total in 0..<5 { board[.sold].post(Sale(total: total)) }
        metrics.report()
        #expect(try factory.expectRecorder("channels_waiting", [("channel", "shop.sold")]).lastValue == 5)
        #expect(try factory.expectRecorder("channels_lane_waiting", [("lane", "metrics.queue")]).lastValue == 5)
        token.cancel()
        queue.resume()
    }

    private func gauge(_ label: String, _ name: String, _ value: String) throws -> Double? {
        try factory.expectRecorder(label, [(name, value)]).lastValue
    }

    @Test func lanesOfOneNameAreAddedUp() throws {
        let metrics = ChannelMetrics(board, factory: factory)
        let queues = (0..<3).map { _ in DispatchQueue(label: "metrics.same") }
        queues[0].suspend()
        let tokens = queues.map { queue in board[.sold].listen(on: queue) { _ in } }
        for total in 0..<5 { board[.sold].post(Sale(total: total)) }
        for queue in queues.dropFirst() { queue.sync {} }
        metrics.report()
        let waiting = board.snapshot().lanes.filter { $0.name == "metrics.same" }.reduce(0) { $0 + $1.waitingCount }
        #expect(waiting >= 5)
        #expect(try gauge("channels_lane_waiting", "lane", "metrics.same") == Double(waiting))
        for token in tokens { token.cancel() }
        queues[0].resume()
    }

    @Test func gaugesOfWhatHasGoneReturnToZero() throws {
        let metrics = ChannelMetrics(board, factory: factory)
        let kept = board.channel(ChannelName<Int>("metrics.kept"))
        let queue = DispatchQueue(label: "metrics.gone")
        queue.suspend()
        let tokens = [kept.listen(on: queue) { _ in }, board[.sold].listen(on: queue) { _ in }]
        for channel in ["metrics.kept", "shop.sold"] {
            board[ChannelName<Int>(stringLiteral: "metrics.kept")].post(1)
            board[.sold].post(Sale(total: 1))
            metrics.report()
            #expect(try gauge("channels_listeners", "channel", channel) == 1)
            #expect(try gauge("channels_waiting", "channel", channel) ?? 0 > 0)
        }
        #expect(try gauge("channels_lane_waiting", "lane", "metrics.gone") ?? 0 > 0)
        for token in tokens { token.cancel() }
        queue.resume()
        queue.sync {}
        metrics.report()
        // One channel is still there, the other has gone.
        for channel in ["metrics.kept", "shop.sold"] {
            #expect(try gauge("channels_listeners", "channel", channel) == 0)
            #expect(try gauge("channels_waiting", "channel", channel) == 0)
        }
        #expect(try gauge("channels_lane_waiting", "lane", "metrics.gone") == 0)
        // They are reported once more, and no longer.
        let recorder = try factory.expectRecorder("channels_listeners", [("channel", "shop.sold")])
        let count = recorder.values.count
        metrics.report()
        #expect(recorder.values.count == count)
        withExtendedLifetime(kept) {}
    }

    @Test func gaugesOfADurableNameThatHasGoneReturnToZero() async throws {
        let names = Locked(["kitchen", "bar"])
        let metrics = ChannelMetrics(
            board,
            stores: {
                var status = StoreStatus(name: "messages")
                status.names = names.withLock { $0 }.map { text in
                    var name = StoreStatus.DurableName(name: text, pattern: ">")
                    name.waiting = 7
                    // Unknown, once the other has gone.
                    name.oldestAge = names.withLock { $0.count } == 2 ? .seconds(9) : nil
                    return name
                }
                return [status]
            },
            factory: factory
        )
        func value(_ label: String, _ name: String) throws -> Double? {
            try factory.expectRecorder(label, [("store", "messages"), ("name", name), ("pattern", ">")]).lastValue
        }
        await metrics.reportStores()
        #expect(try value("channels_durable_waiting", "bar") == 7 && value("channels_durable_oldest_age", "bar") == 9)
        names.withLock { $0 = ["kitchen"] }
        await metrics.reportStores()
        #expect(try value("channels_durable_waiting", "bar") == 0 && value("channels_durable_oldest_age", "bar") == 0)
        #expect(try value("channels_durable_waiting", "kitchen") == 7)
        #expect(try value("channels_durable_oldest_age", "kitchen") == 9)
    }

    @Test func beyondAThousandLanesTheRestShareADimension() throws {
        let metrics = ChannelMetrics(board, factory: factory)
        let tokens = (0..<1_010).map { board[.sold].listen(on: DispatchQueue(label: "lane-\($0)")) { _ in } }
        metrics.report()
        let series = Set(factory.recorders.filter { $0.label == "channels_lane_waiting" }.map { "\($0.dimensions)" })
        #expect(series.count == 1_001)
        #expect(try gauge("channels_lane_waiting", "lane", "other") != nil)
        withExtendedLifetime(tokens) {}
    }

    @Test func faultsAreCountedAndTimesRecordedWhereChannelsAreTraced() async throws {
        board.diagnostics = .trace
        let token = board.addInstrument(ChannelMetrics(board, factory: factory))
        let listeners = [
            board[.sold].listen { (_: Sale) throws in throw Broken() },
            board[.sold].listen { (_: Sale) async in await Task.yield() },
        ]
        await board[.sold].postAndWait(Sale(total: 1))
        #expect(factory.counterTotal(label: "channels_faults", dimensions: [("code", "listenerThrew")]) == 1)
        #expect(try factory.expectTimer("channels_spent", [("channel", "shop.sold")]).values.count == 2)
        #expect(try factory.expectTimer("channels_waited", [("channel", "shop.sold")]).values.count == 2)
        withExtendedLifetime((token, listeners)) {}
    }

    /// A full buffer and a lost connection need different alerts.
    @Test func faultsOfABridgeAreCountedByTheCodeOfTheirError() {
        let metrics = ChannelMetrics(board, factory: factory)
        for code in [BridgeError.Code.bufferFull, .notConnected, .bufferFull] {
            metrics.report(Fault(code: .bridgeFailed, channelName: "shop.sold", underlyingError: BridgeError(code)))
        }
        #expect(factory.counterTotal(label: "channels_faults", dimensions: [("code", "bufferFull")]) == 2)
        #expect(factory.counterTotal(label: "channels_faults", dimensions: [("code", "notConnected")]) == 1)
    }

    /// Counts the timers made.
    private final class CountingFactory: MetricsFactory {
        let timers = Recorder<String>()
        private let base = NOOPMetricsHandler.instance

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { base }

        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            base
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            timers.record(label)
            return base
        }

        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }

    @Test func whatATransportHasStoredIsReadWhenItIsReported() async throws {
        var name = StoreStatus.DurableName(name: "kitchen", pattern: "shop.>")
        (name.waiting, name.unsettled, name.processes, name.oldestAge) = (7, 2, 1, .seconds(90))
        var status = StoreStatus(name: "messages")
        (status.deadLetters, status.fileBytes, status.logBytes, status.commitAge) = (
            3, 4_096, 512, .milliseconds(1_500)
        )
        let idle = StoreStatus.DurableName(name: "idle", pattern: ">")
        var unknown = StoreStatus.DurableName(name: "unknown", pattern: ">")
        unknown.waiting = 1
        status.names = [name, idle, unknown]
        let asked = Recorder<StoreStatus>()
        let metrics = ChannelMetrics(
            board,
            stores: { [status] in
                asked.record(status)
                if asked.count > 1 { throw BridgeError(.notConnected) }
                return [status]
            },
            factory: factory
        )
        metrics.report()
        #expect(asked.count == 0)
        await metrics.reportStores()
        func gauge(_ label: String, _ name: String? = nil) throws -> Double? {
            let pattern = name == "kitchen" ? "shop.>" : ">"
            let dimensions = [("store", "messages")] + (name.map { [("name", $0), ("pattern", pattern)] } ?? [])
            return try factory.expectRecorder(label, dimensions).lastValue
        }
        #expect(try gauge("channels_store_dead_letters") == 3 && gauge("channels_store_file_bytes") == 4_096)
        #expect(try gauge("channels_store_log_bytes") == 512 && gauge("channels_store_commit_age") == 1.5)
        #expect(try gauge("channels_durable_waiting", "kitchen") == 7)
        #expect(try gauge("channels_durable_unsettled", "kitchen") == 2)
        #expect(try gauge("channels_durable_processes", "kitchen") == 1)
        #expect(try gauge("channels_durable_oldest_age", "kitchen") == 90)
        #expect(try gauge("channels_durable_oldest_age", "idle") == 0)
        #expect(throws: (any Error).self) { try gauge("channels_durable_oldest_age", "unknown") }
        await metrics.reportStores()
        #expect(factory.counterTotal(label: "channels_store_failures", dimensions: [("code", "notConnected")]) == 1)
    }

    @Test func timersAreMadeOnceForEachChannel() {
        board.diagnostics = .trace
        let factory = CountingFactory()
        let token = board.addInstrument(ChannelMetrics(board, factory: factory))
        let listener = board[.sold].listen { _ in }
        for total in 0..<10 { board[.sold].post(Sale(total: total)) }
        #expect(factory.timers.all.sorted() == ["channels_spent", "channels_waited"])
        withExtendedLifetime((token, listener)) {}
    }

    @Test func beyondAThousandChannelsTheRestShareADimension() {
        let metrics = ChannelMetrics(board, factory: factory)
        let channels = (0..<1_010).map { board.channel(ChannelName<Int>(stringLiteral: "many.c\($0)")) }
        for channel in channels { channel.post(1) }
        metrics.report()
        #expect(total("channels_posts", "other") == 10)
        withExtendedLifetime(channels) {}
    }

    /// A `String` takes both spellings for one, as `TestMetrics` does.
    @Test func channelsOfTwoSpellingsAreCountedEachByItself() throws {
        let metrics = ChannelMetrics(board, factory: factory)
        let names = try ["caf\u{E9}", "cafe\u{301}"].map { try ChannelName<Int>(validating: $0) }
        let tokens = names.map { board[$0].listen { _ in } }
        for _ in 0..<3 { board[names[0]].post(1) }
        for _ in 0..<5 { board[names[1]].post(1) }
        for _ in 0..<3 { metrics.report() }
        #expect(total("channels_posts", "café") == 8 && total("channels_delivered", "café") == 8)
        withExtendedLifetime(tokens) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: ["metrics", "faults"])
    func anIntervalThatIsNotPositiveEndsTheProgramAndIsNamed(kind: String) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [kind] in
            if kind == "metrics" { _ = ChannelMetrics(Switchboard(), every: .zero) } else { _ = FaultLog(every: .zero) }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("every 0.0 seconds; the interval must be positive: write"), "\(text)")
    }

    /// In a process of its own, which has one factory for good.
    @Test func metricsMayBeCreatedBeforeTheProcessSetsItsFactory() async {
        await #expect(processExitsWith: .success) {
            let (board, factory) = (Switchboard(diagnostics: .counts), TestMetrics())
            let metrics = ChannelMetrics(board)
            MetricsSystem.bootstrap(factory)
            let token = board[.sold].listen { _ in }
            board[.sold].post(Sale(total: 1))
            metrics.report()
            #expect(factory.counterTotal(label: "channels_posts", dimensions: [("channel", "shop.sold")]) == 1)
            withExtendedLifetime(token) {}
        }
    }
    #endif

    @Test func anIntervalMayBeLongerThanAnyClockCanExpress() async throws {
        let metrics = ChannelMetrics(board, every: .seconds(Int64.max), factory: factory)
        board[.sold].post(Sale(total: 1))
        try await testGracefulShutdown { trigger in
            async let run: Void = metrics.run()
            trigger.triggerGracefulShutdown()
            try await run
        }
        #expect(total("channels_posts") == 1)
    }

    /// The switchboard keeps the metrics as its instrument, and they do not keep it.
    @Test func metricsEndWithTheirSwitchboard() async throws {
        weak var gone: Switchboard?
        let metrics: ChannelMetrics
        do {
            let board = Switchboard()
            gone = board
            metrics = ChannelMetrics(board, every: .milliseconds(1), factory: factory)
        }
        #expect(gone == nil)
        try await metrics.run()
    }

    @Test func atAGracefulShutdownTheCountsAreHandedOverOnceMore() async throws {
        let metrics = ChannelMetrics(board, every: .seconds(3_600), factory: factory)
        board[.sold].post(Sale(total: 1))
        try await testGracefulShutdown { trigger in
            async let run: Void = metrics.run()
            trigger.triggerGracefulShutdown()
            try await run
        }
        #expect(total("channels_posts") == 1)
    }
}
#endif
