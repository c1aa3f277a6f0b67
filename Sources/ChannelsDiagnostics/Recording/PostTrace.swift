internal import Channels

/// Travels with a traced message, with the time of the post and the instruments' contexts.
final class PostTrace: MessageTrace {
    typealias Notified = (instrument: any ChannelInstrument, context: (any Sendable)?)

    let event: PostEvent
    let time: Int64
    private let notified: [Notified]

    init(_ event: PostEvent, _ time: Int64, _ notified: [Notified]) {
        self.event = event
        self.time = time
        self.notified = notified
    }

    /// Notifies every instrument of a post, and delivers it inside them. `notified` are the instruments
    /// already called.
    @inline(never)
    static func post(
        _ event: PostEvent,
        to instruments: [any ChannelInstrument],
        _ notified: [Notified] = [],
        _ deliver: (PostTrace) -> Void
    ) {
        guard notified.count < instruments.count else { return deliver(PostTrace(event, MonotonicClock.now, notified)) }
        let next = instruments[notified.count]
        var hasDelivered = false
        func proceed(_ context: (any Sendable)?) {
            // A second call by the instrument has no effect.
            guard !hasDelivered else { return }
            hasDelivered = true
            Instrumentation.resumed { post(event, to: instruments, notified + [(next, context)], deliver) }
        }
        Instrumentation.suspended { next.post(event, proceed) }
        if !hasDelivered { proceed(nil) }
    }

    /// Calls a synchronous listener inside every instrument, and records the times.
    @inline(never)
    func deliver(to listener: ListenerEntry, _ call: () -> Void) {
        let (times, waited) = begin(listener)
        deliver(0, to: listener, waited) {
            let start = MonotonicClock.now
            call()
            times.spent.add(MonotonicClock.now - start)
        }
    }

    @inline(never)
    private func deliver(_ index: Int, to listener: ListenerEntry, _ waited: Int64, _ call: () -> Void) {
        guard index < notified.count else { return call() }
        var hasCalled = false
        func proceed() {
            guard !hasCalled else { return }
            hasCalled = true
            Instrumentation.resumed { deliver(index + 1, to: listener, waited, call) }
        }
        let event = event(for: listener, waited, notified[index].context)
        Instrumentation.suspended { notified[index].instrument.deliver(event, proceed) }
        if !hasCalled { proceed() }
    }

    /// Calls an async listener inside every instrument, and records the times.
    @inline(never)
    func deliver(
        to listener: ListenerEntry,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async {
        let (times, waited) = begin(listener)
        await deliver(0, to: listener, waited, isolation: isolation) {
            _ = isolation
            let start = MonotonicClock.now
            await call()
            times.spent.add(MonotonicClock.now - start)
        }
    }

    @inline(never)
    private func deliver(
        _ index: Int,
        to listener: ListenerEntry,
        _ waited: Int64,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async {
        guard index < notified.count else { return await call() }
        var hasCalled = false
        func proceed() async {
            _ = isolation
            guard !hasCalled else { return }
            hasCalled = true
            await deliver(index + 1, to: listener, waited, isolation: isolation, call)
        }
        let event = event(for: listener, waited, notified[index].context)
        await notified[index].instrument.deliver(event, isolation: isolation, proceed)
        if !hasCalled { await proceed() }
    }

    /// Records that a sequence's reader took the message.
    func noteRead(by listener: ListenerEntry) { _ = begin(listener) }

    /// Records how long the message has waited.
    private func begin(_ listener: ListenerEntry) -> (ListenerRecord, waited: Int64) {
        let times = listener.ensureRecord()
        let waited = MonotonicClock.now - time
        times.waited.add(waited)
        return (times, waited)
    }

    @inline(never)
    private func event(for listener: ListenerEntry, _ waited: Int64, _ context: (any Sendable)?) -> DeliveryEvent {
        DeliveryEvent(
            post: event,
            deliveryKind: listener.deliveryKind,
            ownerType: listener.owner.map { type(of: $0) },
            registrationSite: listener.site.site,
            waitTime: .nanoseconds(waited),
            context: context
        )
    }
}

/// Sets whether the thread's posts are traced. Posts made by instruments and descriptions are not, because
/// tracing them would never end.
enum Instrumentation {
    static func resumed<Result>(_ body: () -> Result) -> Result { with(false, body) }

    static func suspended<Result>(_ body: () -> Result) -> Result { with(true, body) }

    private static func with<Result>(_ isInInstrument: Bool, _ body: () -> Result) -> Result {
        let before = CurrentThread.isInInstrument
        CurrentThread.isInInstrument = isInInstrument
        defer { CurrentThread.isInInstrument = before }
        return body()
    }
}
