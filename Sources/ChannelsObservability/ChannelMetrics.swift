#if Observability
public import Channels
public import ChannelsBridge
internal import ChannelsDiagnostics
public import Metrics
public import ServiceLifecycle

/// Reports the counts of a switchboard to swift-metrics at intervals.
///
/// ```swift
/// board.diagnostics = .counts
/// let metrics = ChannelMetrics(board, every: .seconds(10))
/// let token = board.addInstrument(metrics)  // for faults, and times where channels are traced
/// try await ServiceGroup(services: [metrics], logger: logger).run()
/// ```
///
/// Posting costs no more than the switchboard's `diagnostics` do, because counts are read from a snapshot.
/// Only times are recorded at each call, and only with `.trace`.
///
/// | Metric | Dimensions | |
/// |---|---|---|
/// | `channels_posts`, `channels_unreceived` | `channel` | posts, and posts without a receiver |
/// | `channels_delivered`, `channels_dropped`, `channels_missed`, `channels_failed` | `channel` | messages, summed over its listeners |
/// | `channels_waiting`, `channels_listeners` | `channel` | gauges |
/// | `channels_lane_waiting` | `lane` | gauge |
/// | `channels_faults` | `code` | faults, counted when they happen, those of bridges by the code of their `BridgeError`; needs `board.addInstrument(metrics)` |
/// | `channels_waited`, `channels_spent` | `channel` | timers: until the call, and in the listener; needs `board.addInstrument(metrics)` and `.trace` |
///
/// With `stores:`, ``run()`` also reports what transports have stored, read once per interval:
///
/// | Metric | Dimensions | |
/// |---|---|---|
/// | `channels_store_dead_letters` | `store` | gauge: letters not put back |
/// | `channels_store_file_bytes`, `channels_store_log_bytes` | `store` | gauges: the file and its write-ahead log; not over NATS |
/// | `channels_store_commit_age` | `store` | gauge: seconds since the last commit; over NATS, since the newest message |
/// | `channels_durable_waiting`, `channels_durable_unsettled`, `channels_durable_processes` | `store`, `name`, `pattern` | gauges: messages not taken, messages taken but unsettled, and processes |
/// | `channels_durable_oldest_age` | `store`, `name`, `pattern` | gauge: seconds since the oldest message not settled was stored; 0 without one |
/// | `channels_store_failures` | `code` | failed readings |
///
/// A pattern counts as a channel, with its listeners and the posts that they receive. The counts of lanes with the same
/// name are added together. After the first 1,000 channels, or 1,000 names of lanes, all others share the dimension
/// value `other`. The gauges of a channel that no longer exists are reported once more, as zero.
public final class ChannelMetrics: ChannelInstrument, Service, @unchecked Sendable {  // see `switchboard`
    /// How many values a dimension has before further ones share `other`.
    private static let mostValues = 1_000

    /// Weak, because the switchboard keeps its instruments. Only written in the initializer; everything else
    /// is constant or locked.
    private weak var switchboard: Switchboard?
    private let interval: Duration
    private let stores: (@Sendable () async throws -> [StoreStatus])?
    private let given: (any MetricsFactory)?
    /// Looked up at each use, because the process may set its own after this was created.
    private var factory: any MetricsFactory { given ?? MetricsSystem.factory }
    private let known = Locked(Known())

    private struct Timers {
        let waited: Timer
        let spent: Timer
    }

    /// One time series of a gauge.
    private struct Series: Hashable {
        let label: String
        /// Alternating names and values.
        let dimensions: [ExactText]

        init(_ label: String, _ dimensions: [(String, String)]) {
            self.label = label
            self.dimensions = dimensions.flatMap { [ExactText($0.0), ExactText($0.1)] }
        }

        /// The dimensions in the form that swift-metrics expects.
        var pairs: [(String, String)] {
            stride(from: 0, to: dimensions.count, by: 2).map { (dimensions[$0].text, dimensions[$0 + 1].text) }
        }
    }

    /// The gauges of one report.
    private struct Gauges {
        /// The values. If one is nil, the value is not known now, and the last one stays.
        var values: [Series: Double?] = [:]

        mutating func set(_ value: Double?, _ label: String, _ dimensions: [(String, String)]) {
            values[Series(label, dimensions)] = .some(value)
        }

        mutating func add(_ value: Int, _ label: String, _ dimension: (String, String)) {
            let series = Series(label, [dimension])
            values[series] = (values[series] ?? 0).map { $0 + Double(value) }
        }
    }

    /// The two sources of gauges. Each one reports its own.
    private enum Reporter { case counts, stores }

    private struct Known {
        /// The values of the dimensions `channel` and `lane`.
        var values: [String: Set<ExactText>] = [:]
        /// The gauges in the last report of each source.
        var gauges: [Reporter: Set<Series>] = [:]
        /// The totals reported so far.
        var totals: [ExactText: Int] = [:]
        /// Timers by channel. Each is created once, as backends expect.
        var timers: [ExactText: Timers] = [:]
        /// Whether a thread is reporting, and whether another has asked for a report meanwhile.
        var isReporting = false
        var isAskedAgain = false

        /// Returns whether the caller has to report. If not, the thread that is reporting will do so once
        /// more.
        mutating func beginReport() -> Bool {
            isAskedAgain = isReporting
            guard !isReporting else { return false }
            isReporting = true
            return true
        }

        /// Returns whether the thread that has reported has to do so once more.
        mutating func continueReport() -> Bool {
            defer { isAskedAgain = false }
            isReporting = isAskedAgain
            return isReporting
        }
    }

    /// Creates the metrics of a switchboard, which is held weakly.
    ///
    /// - Parameters:
    ///   - interval: How often ``run()`` reports. It must be positive.
    ///   - stores: Reads what transports have stored: `bridge.storeStatus`, or the method of a relay or
    ///     transport. For several, use `{ try await bridge.storeStatus() + relay.storeStatus() }`.
    ///   - factory: Creates the metrics; by default the process-wide factory, even if
    ///     `MetricsSystem.bootstrap` is called later.
    public init(
        _ switchboard: Switchboard,
        every interval: Duration = .seconds(10),
        stores: (@Sendable () async throws -> [StoreStatus])? = nil,
        factory: (any MetricsFactory)? = nil
    ) {
        require(
            interval > .zero,
            "ChannelMetrics: every \(interval); the interval must be positive: write .seconds(10)"
        )
        self.switchboard = switchboard
        self.interval = interval
        self.stores = stores
        given = factory
    }

    /// Reports the counts after each interval.
    ///
    /// On graceful shutdown or cancellation, it reports once more and returns. It also returns when the switchboard is
    /// deallocated.
    public func run() async throws {
        defer { report() }
        try? await cancelWhenGracefulShutdown {
            while self.switchboard != nil {
                try await ContinuousClock().sleep(atMost: self.interval)
                self.report()
                await self.reportStores()
            }
        }
    }

    /// Reports the counts now.
    ///
    /// If another thread is already reporting, that thread reports once more instead.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    public func report() {
        // Reports differences between snapshots, so only one thread at a time.
        guard known.withLock({ $0.beginReport() }) else { return }
        repeat { handOver() } while known.withLock { $0.continueReport() }
    }

    /// Reports what the initializer's `stores` closure reads now.
    public func reportStores() async {
        guard let stores else { return }
        do {
            var gauges = Gauges()
            for store in try await stores() { add(store, to: &gauges) }
            record(gauges, of: .stores)
        } catch {
            let code = (error as? BridgeError).map { "\($0.code)" } ?? "\(type(of: error))"
            Counter(label: "channels_store_failures", dimensions: [("code", code)], factory: factory).increment()
        }
    }

    private func add(_ store: StoreStatus, to gauges: inout Gauges) {
        let seconds = { (age: Duration) in age / .seconds(1) }
        let here = [("store", store.name)]
        gauges.set(store.deadLetters.map(Double.init), "channels_store_dead_letters", here)
        gauges.set(store.fileBytes.map(Double.init), "channels_store_file_bytes", here)
        gauges.set(store.logBytes.map(Double.init), "channels_store_log_bytes", here)
        gauges.set(store.commitAge.map(seconds), "channels_store_commit_age", here)
        for name in store.names {
            let dimensions = here + [("name", name.name), ("pattern", name.pattern)]
            gauges.set(Double(name.waiting), "channels_durable_waiting", dimensions)
            gauges.set(Double(name.unsettled), "channels_durable_unsettled", dimensions)
            gauges.set(Double(name.processes), "channels_durable_processes", dimensions)
            // The age is unknown, unless there is nothing to do.
            let age = name.oldestAge ?? (name.waiting + name.unsettled == 0 ? .zero : nil)
            gauges.set(age.map(seconds), "channels_durable_oldest_age", dimensions)
        }
    }

    /// Records gauges, and zero for those of the last report that are missing, because a backend shows the
    /// last value of a gauge forever.
    private func record(_ gauges: Gauges, of reporter: Reporter) {
        let gone = known.withLock { known in
            let before = known.gauges.updateValue(Set(gauges.values.keys), forKey: reporter) ?? []
            return before.filter { gauges.values[$0] == nil }
        }
        // Without the lock, because the factory is the user's.
        for series in gone { gauge(series).record(0) }
        for case (let series, let value?) in gauges.values { gauge(series).record(value) }
    }

    private func gauge(_ series: Series) -> Gauge {
        Gauge(label: series.label, dimensions: series.pairs, factory: factory)
    }

    private func handOver() {
        guard let snapshot = switchboard?.snapshot() else { return }
        var totals: [ExactText: Int] = [:]
        var gauges = Gauges()
        var names = Set(snapshot.channels.map { ExactText($0.name) })
        for channel in snapshot.channels + snapshot.watched + snapshot.protocols + snapshot.patterns {
            let name = dimension("channel", channel.name)
            gauges.add(0, "channels_waiting", ("channel", name))
            gauges.add(0, "channels_listeners", ("channel", name))
            var key = "\(channel.kind) \(channel.name)"
            // Each has one listener, and all of these have the same number.
            if channel.kind == .pattern, let site = channel.listeners.first?.registrationSite { key += " \(site)" }
            // A pattern without wildcards, such as that of a bridge's route, has the name of a channel, which
            // counts the same posts. All listeners to one pattern also count the same posts.
            let counts = channel.kind != .pattern || names.insert(ExactText(channel.name)).inserted
            add(channel.postCount, "channels_posts", name, key, &totals, counts: counts)
            add(channel.unreceivedCount, "channels_unreceived", name, key, &totals, counts: counts)
            // The listener of a pattern is counted with the pattern.
            for listener in channel.listeners where listener.deliveryKind != .pattern {
                let key = "\(key) \(listener.number)"
                add(listener.deliveredCount, "channels_delivered", name, key, &totals)
                add(listener.droppedCount, "channels_dropped", name, key, &totals)
                add(listener.missedCount, "channels_missed", name, key, &totals)
                add(listener.failureCount, "channels_failed", name, key, &totals)
                gauges.add(listener.waitingCount ?? 0, "channels_waiting", ("channel", name))
                gauges.add(1, "channels_listeners", ("channel", name))
            }
        }
        // Replaces the totals, so that those of removed channels do not accumulate.
        known.withLock { [totals] in $0.totals = totals }
        for lane in snapshot.lanes {
            gauges.add(lane.waitingCount, "channels_lane_waiting", ("lane", dimension("lane", lane.name)))
        }
        record(gauges, of: .counts)
    }

    /// Reports the increase of a count since the last report. If the count is smaller, it was reset to zero
    /// meanwhile.
    /// - Parameter counts: Whether to report it. If not, it is only remembered.
    private func add(
        _ count: Int?,
        _ label: String,
        _ channel: String,
        _ key: String,
        _ totals: inout [ExactText: Int],
        counts: Bool = true
    ) {
        guard let count else { return }
        let key = ExactText("\(label) \(key)")
        let before = known.withLock { $0.totals[key] } ?? 0
        totals[key] = count
        let added = count < before ? count : count - before
        guard counts, added > 0 else { return }
        Counter(label: label, dimensions: [("channel", channel)], factory: factory).increment(by: added)
    }

    /// Returns the value of a dimension; `other` if there are too many.
    private func dimension(_ name: String, _ value: String) -> String {
        known.withLock { known in
            let (count, isKnown) = (known.values[name]?.count ?? 0, known.values[name]?.contains(ExactText(value)))
            guard count < Self.mostValues || isKnown == true else { return "other" }
            known.values[name, default: []].insert(ExactText(value))
            return value
        }
    }

    // MARK: As an instrument

    /// Counts a fault.
    public func report(_ fault: Fault) {
        Counter(label: "channels_faults", dimensions: [("code", fault.cause)], factory: factory).increment()
    }

    /// Records how long the listener takes.
    public func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        let start = ContinuousClock.now
        call()
        record(delivery, ContinuousClock.now - start)
    }

    /// Records how long the listener takes, including suspensions.
    public func deliver(
        _ delivery: DeliveryEvent,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async {
        let start = ContinuousClock.now
        await call()
        record(delivery, ContinuousClock.now - start)
    }

    private func record(_ delivery: DeliveryEvent, _ spent: Duration) {
        let timers = timers(of: dimension("channel", delivery.post.channelName))
        timers.waited.recordNanoseconds(delivery.waitTime.limitInNanoseconds)
        timers.spent.recordNanoseconds(spent.limitInNanoseconds)
    }

    private func timers(of channel: String) -> Timers {
        let key = ExactText(channel)
        if let found = known.withLock({ $0.timers[key] }) { return found }
        // Without the lock, because the factory is the user's. If two threads create timers, those of one are
        // kept.
        let made = Timers(
            waited: Timer(label: "channels_waited", dimensions: [("channel", channel)], factory: factory),
            spent: Timer(label: "channels_spent", dimensions: [("channel", channel)], factory: factory)
        )
        return known.withLock { known in
            if let found = known.timers[key] { return found }
            known.timers[key] = made
            return made
        }
    }
}
#endif
