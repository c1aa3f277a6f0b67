internal import Dispatch

/// Calls a body after a time, unless it is cancelled first. Uses a Dispatch timer, because a cancelled `Task.sleep`
/// keeps about 750 bytes until its time has passed, however soon the answer arrives.
package struct Timeout: ~Copyable {
    private let timer: any DispatchSourceTimer

    package init(after duration: Duration, _ body: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global())
        // Not a `DispatchTimeInterval`, whose nanoseconds are an `Int`: see `limitInNanoseconds`.
        let end = DispatchTime.now().uptimeNanoseconds + UInt64(duration.limitInNanoseconds)
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: end))
        timer.setEventHandler { body() }
        timer.activate()
    }

    deinit { timer.cancel() }
}
