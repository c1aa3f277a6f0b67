#if SQLite
/// When a connection looks whether others have committed something. A value, so that it can be tested without a file.
///
/// After a hint it looks again and again until the commit is there, because the hint comes with the write, and the
/// commit is visible after the sync. Otherwise it looks once a second, in case that nothing was hinted at.
struct LookSchedule {
    typealias Instant = ContinuousClock.Instant

    /// How often it looks if nothing is hinted at.
    static let net = Duration.seconds(1)
    /// For how long a commit is expected after a hint.
    private static let longest = Duration.milliseconds(200)
    /// Between two looks where the system gives no hints: soon after something was found, and later.
    private static let (unwatched, silent) = (Duration.milliseconds(5), Duration.milliseconds(100))
    /// The longest pause after a look that found nothing for this connection.
    private static let longestPause = Duration.milliseconds(10)

    /// Since when a commit is expected. `isOwn`: the hint is most likely of what this connection has written itself.
    private var expected: (since: Instant, isOwn: Bool)?
    private var lastLook: Instant
    private var lastFound: Instant
    /// Others may write all the time: what they commit takes a fifth of this thread at most, and ever less while it
    /// does not concern this connection. Otherwise fifty processes would look at each commit of one.
    private var earliest: Instant
    private var pause = Duration.zero
    /// Whether the system gives hints.
    var isWatching = true

    init(_ now: Instant) { (lastLook, lastFound, earliest) = (now, now, now) }

    /// Somebody has written to the log.
    mutating func hint(_ now: Instant) { expected = (now, false) }

    /// This connection has written to it; and perhaps somebody else, just after that.
    mutating func wrote(_ now: Instant) { if expected == nil { expected = (now, true) } }

    /// It began a look, and has read by the end what others have committed, if that was something.
    mutating func looked(_ begin: Instant, found: Bool, until end: Instant) {
        lastLook = begin
        if let (since, _) = expected, found || since.duration(to: begin) > Self.longest { expected = nil }
        guard found else { return }
        lastFound = begin
        pause = min(max(pause * 2, begin.duration(to: end) * 4), Self.longestPause)
        earliest = end + pause
    }

    /// A look has found something for this connection.
    mutating func delivered() { pause = .zero }

    /// When it looks next.
    var next: Instant {
        var next = lastLook + Self.net
        if let (since, isOwn) = expected { next = min(next, Self.look(after: lastLook, since, isOwn)) }
        if !isWatching {
            next = min(next, lastLook + min(max(lastFound.duration(to: lastLook) / 20, Self.unwatched), Self.silent))
        }
        return max(next, earliest)
    }

    /// At once after a hint, then each 0.3 ms, or after a tenth of the time that has passed. After a commit of its own,
    /// a few times.
    private static func look(after last: Instant, _ since: Instant, _ isOwn: Bool) -> Instant {
        let passed = since.duration(to: last)
        guard passed >= .zero else { return isOwn ? since + .milliseconds(1) : since }
        return last + (isOwn ? max(passed * 2, .milliseconds(1)) : max(passed / 10, .microseconds(300)))
    }
}
#endif
