internal import Dispatch

/// Calls a body after a time, unless it is cancelled before. A Dispatch timer, because a cancelled
/// `Task.sleep` keeps about 750 bytes until its time has passed, however soon an answer arrives.
package struct Timeout: ~Copyable {
    /// No limit: Dispatch cannot express the end of a longer time.
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
