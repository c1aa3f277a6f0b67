#if Observability
public import Channels
public import Logging

/// Writes faults to a log, at a limited rate.
///
/// ```swift
/// let log = board.addInstrument(FaultLog(logger))
/// ```
///
/// In each interval, it writes at most one line for each fault code, channel and source location (for a bridge, each
/// code of a `BridgeError`), and a limited number in all. The metadata contains the fault's `count` so far and, as
/// `suppressed`, the number of lines left out since the last one. Lines are written on the thread that found the fault,
/// with no lock held.
public final class FaultLog: ChannelInstrument {
    private struct Place: Hashable {
        let cause: String
        let kind: ChannelKind
        let channel: ExactText
        let site: CallSite?
    }

    private struct Written {
        /// When the interval began.
        var start: ContinuousClock.Instant
        var places: Set<Place> = []
        var suppressed = 0
    }

    private let logger: Logger
    private let level: Logger.Level
    private let most: Int
    private let interval: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let written: Locked<Written>

    /// Creates a log of faults.
    ///
    /// - Parameters:
    ///   - logger: The logger to which lines are written.
    ///   - level: The level of the lines.
    ///   - most: The maximum number of lines in an interval.
    ///   - interval: How long an interval is. It must be positive.
    public convenience init(
        _ logger: Logger = Logger(label: "channels"),
        level: Logger.Level = .warning,
        most: Int = 32,
        every interval: Duration = .seconds(1)
    ) {
        self.init(logger, level: level, most: most, every: interval, now: { .now })
    }

    init(
        _ logger: Logger,
        level: Logger.Level = .warning,
        most: Int,
        every interval: Duration,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        require(most > 0, "FaultLog: at most \(most) lines; the number must be positive: write 1 or more")
        require(interval > .zero, "FaultLog: every \(interval); the interval must be positive: write .seconds(1)")
        self.logger = logger
        self.level = level
        self.most = most
        self.interval = interval
        self.now = now
        written = Locked(Written(start: now()))
    }

    /// Writes a line, unless a limit is reached.
    public func report(_ fault: Fault) {
        let place = Place(
            cause: fault.cause,
            kind: fault.channelKind,
            channel: ExactText(fault.channelName),
            site: fault.registrationSite
        )
        let now = now()
        let suppressed = written.withLock { written -> Int? in
            if now - written.start >= interval {
                written.start = now
                written.places.removeAll(keepingCapacity: true)
            }
            guard written.places.count < most, written.places.insert(place).inserted else {
                written.suppressed += 1
                return nil
            }
            defer { written.suppressed = 0 }
            return written.suppressed
        }
        guard let suppressed else { return }
        var metadata: Logger.Metadata = [
            "code": "\(fault.code)",
            "kind": "\(fault.channelKind)",
            "channel": "\(fault.channelName)",
            "count": "\(fault.count)",
        ]
        if let site = fault.registrationSite { metadata["site"] = "\(site)" }
        if let error = fault.underlyingError { metadata["error"] = "\(error)" }
        if suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        // Only the detail, because the metadata has everything else.
        let detail = fault.detail.map { ", \(onOneLine($0))" } ?? ""
        logger.log(level: level, "\(fault.code) on \(fault.channelName)\(detail)", metadata: metadata)
    }
}
#endif
