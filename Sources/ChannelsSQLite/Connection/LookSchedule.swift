#if SQLite
/// When a connection checks whether others have committed something. It is a value, so that it can be tested
/// without a file.
///
/// After a hint, it looks again and again until the commit is there: the hint comes with the write, but the
/// commit is only visible after the sync. Otherwise it looks once a second, in case a hint is missing.
struct LookSchedule {
    typealias Instant = ContinuousClock.Instant

    /// How often to look without a hint.
    static let net = Duration.seconds(1)
    /// How long a commit is expected after a hint.
    private static let longest = Duration.milliseconds(200)
    /// The pauses between looks if the system gives no hints: soon after something was found, and later.
    private static let (unwatched, silent) = (Duration.milliseconds(5), Duration.milliseconds(100))
    /// The longest pause after a look that found nothing for this connection.
    private static let longestPause = Duration.milliseconds(10)

    /// Since when a commit is expected. `isOwn` says that the hint is most likely a write of this connection.
    private var expected: (since: Instant, isOwn: Bool)?
    private var lastLook: Instant
    private var lastFound: Instant
    /// The earliest time of the next look. Others may write all the time, so looking takes at most a fifth of
    /// this thread's time, and less and less while nothing concerns this connection. Otherwise fifty
    /// processes would look at every commit of one.
    private var earliest: Instant
    private var pause = Duration.zero
    /// Whether the system gives hints.
    var isWatching = true

    init(_ now: Instant) { (lastLook, lastFound, earliest) = (now, now, now) }

    /// Records that somebody has written to the log.
    mutating func hint(_ now: Instant) { expected = (now, false) }

    /// Records that this connection has written to the log. Somebody else may have, just after that.
    mutating func wrote(_ now: Instant) { if expected == nil { expected = (now, true) } }

    /// Records a look: when it began, whether others had committed something, and when reading that ended.
    mutating func looked(_ begin: Instant, found: Bool, until end: Instant) {
        lastLook = begin
        if let (since, _) = expected, found || since.duration(to: begin) > Self.longest { expected = nil }
        guard found else { return }
        lastFound = begin
        pause = min(max(pause * 2, begin.duration(to: end) * 4), Self.longestPause)
        earliest = end + pause
    }

    /// Records that a look has found something for this connection.
    mutating func delivered() { pause = .zero }

    /// When to look next.
    var next: Instant {
        var next = lastLook + Self.net
        if let (since, isOwn) = expected { next = min(next, Self.look(after: lastLook, since, isOwn)) }
        if !isWatching {
            next = min(next, lastLook + min(max(lastFound.duration(to: lastLook) / 20, Self.unwatched), Self.silent))
        }
        return max(next, earliest)
    }

    /// After a hint, it looks at once, and then every 0.3 ms or after a tenth of the time that has passed.
    /// After a commit of its own, it looks only a few times.
    private static func look(after last: Instant, _ since: Instant, _ isOwn: Bool) -> Instant {
        let passed = since.duration(to: last)
        guard passed >= .zero else { return isOwn ? since + .milliseconds(1) : since }
        return last + (isOwn ? max(passed * 2, .milliseconds(1)) : max(passed / 10, .microseconds(300)))
    }
}
#endif
