internal import Dispatch

/// Calls a body once a time has passed, unless it is cancelled before.
///
/// A timer of Dispatch rather than a task that sleeps: what a cancelled sleep holds, about 750 bytes, goes only
/// when its time has come, so that answers that come at once would take memory for as long as they could have
/// been waited for.
package struct Timeout: ~Copyable {
    /// For ever: Dispatch cannot express the end of a longer time.
    private static var longest: Duration { .seconds(1_000_000_000) }

    private let timer: any DispatchSourceTimer

    package init(after duration: Duration, _ body: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global())
        let (seconds, attoseconds) = min(max(duration, .zero), Self.longest).components
        timer.schedule(deadline: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
        timer.setEventHandler { body() }
        timer.activate()
    }

    deinit { timer.cancel() }
}
