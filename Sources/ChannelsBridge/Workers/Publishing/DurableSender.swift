internal import Channels
internal import Synchronization

/// Publishes durable messages in order, several of them before the first is acknowledged.
///
/// A posted message enters the pipeline on the poster's thread. The route's listener, which handles one
/// message at a time, only waits for the result, so it does not slow the pipeline down.
///
/// The lock of `guarded` protects the pipeline and what belongs to it. Messages are encoded, and results
/// reported, without the lock.
final class DurableSender: RouteSender {
    private struct Guarded {
        var pipeline: PublishPipeline
        /// The message whose outcome the listener is waiting for, if it is waiting.
        var listener: (departure: Departure, continuation: CheckedContinuation<Departure.End, Never>)?
        /// How many messages were acknowledged.
        var sent = 0
        /// The callers that are waiting for a place, in order. A cancelled one may still be among them.
        var waiters = Fifo<FirstResult<Void>>()
        /// The posts for which a place is reserved, without the posts that their listeners make.
        var posts: Set<PostPosition> = []
        var task: Task<Void, Never>?
        /// Whether the task is idle and has not been woken since.
        var isIdle = false
        var pause: Task<Void, Never>?
        /// Whether a fault has been raised since the last pause. Attempts made since then fail together, and
        /// need only one.
        var hasTold = false

        /// Returns whether the task has to be woken.
        mutating func wake() -> Bool {
            defer { isIdle = false }
            return isIdle
        }

        /// The outcome; nil if the message has not ended. Messages that had not ended when the pipeline was
        /// abandoned count as closed.
        func end(of departure: Departure) -> Departure.End? {
            guard departure.end == nil, pipeline.isAbandoned else { return departure.end }
            return (BridgeError(.closed, subject: departure.subject), isReported: false)
        }

        /// The listener and the outcome, if the message that it is waiting for has ended.
        mutating func takeListener() -> (CheckedContinuation<Departure.End, Never>, Departure.End)? {
            guard let (departure, continuation) = listener, let end = end(of: departure) else { return nil }
            listener = nil
            return (continuation, end)
        }
    }

    private let context: BridgeContext
    private let packaging: Packaging
    private let guarded: Locked<Guarded>
    /// Rings when there may be something to do, or nothing left to do.
    private let bell = Bell()
    private let unheard = InFlight()
    /// How many posts with a reserved place are being made.
    private let postCount = Atomic<Int>(0)
    /// Rings when a pause may end early.
    private let restored = Bell()
    /// Whether an attempt has failed, so that nothing more is published until it is repeated. Written only
    /// with the lock held; read without it.
    private let hasFailed = Atomic<Bool>(false)
    /// After this many bytes have been encoded, they are charged before more are encoded.
    private static let mostBytesAtOnce = 1 << 16

    init(_ context: BridgeContext, _ packaging: Packaging) {
        self.context = context
        self.packaging = packaging
        let pipeline = PublishPipeline(
            limit: context.configuration.routeLimit,
            byteLimit: context.configuration.routeByteLimit,
            window: context.configuration.unacknowledgedLimit
        )
        guarded = Locked(Guarded(pipeline: pipeline))
        guarded.withLock { $0.task = Task { await run() } }
    }

    var needs: TransportCapabilities { .durable }

    /// Unbounded, because the pipeline enforces the limit.
    var buffering: BufferingPolicy { .unbounded }

    func take(_ message: any Sendable, postedTo name: String) -> Departure? {
        // A post with a reserved place is made on this thread, and has been counted before.
        let isReserved =
            postCount.load(ordering: .relaxed) > 0 && guarded.withLock { $0.posts.remove(.current) } != nil
        let departure = context.outgoing.charge(messages: 1, isForced: isReserved).map { charge in
            Departure(message, to: name, charge: charge, isReserved: isReserved, unheard)
        }
        let (isTaken, isClosed, wakes) = guarded.withLock { guarded in
            guard let departure, guarded.pipeline.take(departure) else {
                return (false, guarded.pipeline.isClosed, false)
            }
            return (true, false, guarded.wake())
        }
        if wakes { bell.ring() }
        if isTaken { return departure }
        // Refused at once, and not after the messages that are waiting.
        Switchboard.refusePost(because: drop(name, isClosed: isClosed))
        return nil
    }

    func send(_ departure: Departure) async throws {
        // Usually the message has ended already, because acknowledgements arrive in batches.
        let known = guarded.withLock { $0.end(of: departure) }
        let end = if let known { known } else { await wait(for: departure) }
        defer { departure.isHeard() }
        guard let error = end.error else { return }
        // Reported here, because a fault handler must not hold up a thread of the transport.
        if !end.isReported { context.report(error, on: departure.subject) }
        throw error
    }

    private func wait(for departure: Departure) async -> Departure.End {
        await withCheckedContinuation { continuation in
            let end = guarded.withLock { guarded in
                let end = guarded.end(of: departure)
                if end == nil { guarded.listener = (departure, continuation) }
                return end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    func add(to statistics: inout BridgeStatistics) {
        let (waiting, sent) = guarded.withLock { ($0.pipeline.count, $0.sent) }
        statistics.waitingToSend += waiting
        statistics.sent += sent
    }

    /// Also counts outcomes that the listener has not received, because it reports the errors.
    var isIdle: Bool { guarded.withLock { $0.pipeline.count } == 0 && unheard.count == 0 }

    // MARK: Running

    func work() {
        guarded.withLock { $0.pipeline.isReady = true }
        bell.ring()
    }

    func connectionIsBack() {
        restored.ring()
    }

    private func run() async {
        while true {
            let (action, told, hasWaiters) = guarded.withLock { guarded in
                let action = guarded.pipeline.next()
                if case .wait = action { guarded.isIdle = true } else { guarded.isIdle = false }
                if case .publish = action { hasFailed.store(false, ordering: .relaxed) }
                return (action, guarded.takeListener(), !guarded.waiters.isEmpty)
            }
            if let (listener, end) = told { listener.resume(returning: end) }
            if hasWaiters { admit() }
            switch action {
            case .encode(let departures): encode(departures)
            case .publish(let departures): await publish(departures)
            case .pause(let attempts): pause(after: attempts)
            case .wait: await bell.wait()
            case .done: return
            }
        }
    }

    /// Resumes the listener if the message that it is waiting for has ended.
    private func tell() {
        if let (listener, end) = guarded.withLock({ $0.takeListener() }) { listener.resume(returning: end) }
    }

    /// Records the failure of a message that is not in the pipeline.
    private func fail(_ departure: Departure, _ error: BridgeError, isReported: Bool = false) {
        guarded.withLock { _ in departure.end = (error, isReported) }
        tell()
    }

    private func encode(_ departures: [Departure]) {
        var encoded: [Departure] = []
        encoded.reserveCapacity(departures.count)
        var (refused, bytes, next) = ([Departure](), 0, departures.startIndex)
        while next < departures.endIndex, bytes < Self.mostBytesAtOnce {
            let departure = departures[next]
            next += 1
            do {
                let message = try packaging.pack(departure)
                departure.bytes = message.byteCount
                departure.packed = message
                bytes += departure.bytes
                if departure.charge.add(bytes: departure.bytes, isForced: departure.isReserved) {
                    encoded.append(departure)
                } else {
                    refused.append(departure)
                }
            } catch {
                context.count(\.failed)
                fail(departure, BridgeError.from(error, subject: departure.subject))
            }
        }
        let isAbandoned = guarded.withLock { guarded in
            refused += guarded.pipeline.encoded(encoded, rest: departures[next...])
            return guarded.pipeline.isAbandoned
        }
        // If the sender was abandoned, they have been counted and have an outcome.
        for departure in refused where !isAbandoned {
            // There is no room for the bytes of this message, which is the newest, so it is dropped.
            fail(departure, drop(departure.subject, isClosed: false), isReported: true)
        }
    }

    private func publish(_ departures: [Departure]) async {
        for (index, departure) in departures.enumerated() {
            guard !hasFailed.load(ordering: .relaxed) else {
                return guarded.withLock { $0.pipeline.putBack(departures[index...]) }
            }
            // Encoded before. Only this task counts attempts.
            guard let message = departure.packed else { continue }
            let attempt = departure.attempts
            do {
                try await context.transport.publishDurably(message, isRepeated: attempt > 1) { error in
                    self.ended(departure, attempt, error)
                }
            } catch {
                ended(departure, attempt, BridgeError.from(error, subject: departure.subject))
            }
        }
    }

    /// Called by the transport.
    private func ended(_ departure: Departure, _ attempt: Int, _ error: BridgeError?) {
        let end: PublishPipeline.End = error.map { $0.code.disposition == .wait ? .failed : .refused } ?? .acknowledged
        let error = error.map { BridgeError.from($0, subject: departure.subject) }
        let (outcome, tells, wakes) = guarded.withLock { guarded in
            let outcome = guarded.pipeline.ended(departure, attempt: attempt, with: end)
            switch outcome {
            case .isOver:
                if error == nil { guarded.sent += 1 }
                departure.packed = nil
                departure.end = (error, isReported: false)
            case .isToBeRepeated: hasFailed.store(true, ordering: .relaxed)
            case .wasKnown: break
            }
            // An error that somebody has to act on is reported at the first attempt.
            let isLong =
                outcome == .isToBeRepeated
                && (attempt % BridgeConfiguration.attemptsPerFault == 0 || attempt == 1 && error?.code == .notStored)
            defer { if isLong { guarded.hasTold = true } }
            return (outcome, isLong && !guarded.hasTold, guarded.pipeline.isWorthALook && guarded.wake())
        }
        if outcome == .isOver {
            departure.charge.giveBackBytes()
            if error != nil { context.count(\.failed) }
        }
        if wakes { bell.ring() }
        // The message is not lost, but somebody should know.
        if tells, let error { context.report(error, on: departure.subject) }
    }

    private func pause(after attempts: Int) {
        let delay = context.configuration.pause(before: attempts)
        let clock = context.configuration.clock
        let pause = Task { [self] in
            try? await withTimeLimit(delay, clock: clock) { await self.restored.wait() }
            guarded.withLock { $0.pipeline.isPaused = false }
            bell.ring()
        }
        guarded.withLock { ($0.pause, $0.hasTold) = (pause, false) }
    }

    // MARK: Waiting for room

    /// Waits in turn for a place. The caller then has to call ``postReserved(at:_:)``.
    ///
    /// - Throws: ``BridgeError/Code/closed``, `CancellationError`.
    func reserve(for name: String) async throws {
        try Task.checkCancellation()
        let place = FirstResult<Void>()
        guarded.withLock { $0.waiters.append(place) }
        admit()
        do { try await place.valueUnlessCancelled() } catch {
            // A cancelled caller would otherwise stay in the list until there is room.
            guarded.withLock { $0.waiters.removeAll { $0 === place } }
            throw error is CancellationError ? error : BridgeError(.closed, subject: name)
        }
    }

    /// Makes a post with a reserved place. If the post does not use the place, it is given back.
    ///
    /// - Parameter position: The position of the post.
    func postReserved<Result>(at position: @autoclosure () -> PostPosition = .next, _ body: () -> Result) -> Result {
        let position = position()
        guarded.withLock { _ = $0.posts.insert(position) }
        postCount.wrappingAdd(1, ordering: .relaxed)
        defer {
            postCount.wrappingSubtract(1, ordering: .relaxed)
            if guarded.withLock({ $0.posts.remove(position) }) != nil { giveBackPlace() }
        }
        return body()
    }

    func giveBackPlace() {
        giveBackPlaces(1)
        admit()
    }

    private func giveBackPlaces(_ count: Int) {
        let wakes = guarded.withLock { guarded in
            guarded.pipeline.giveBackPlaces(count)
            // The pipeline may be done now.
            return guarded.pipeline.isClosed && guarded.wake()
        }
        if wakes { bell.ring() }
    }

    /// Whether posts are no longer published, even with a reserved place.
    var isAbandoned: Bool { guarded.withLock { $0.pipeline.isAbandoned } }

    /// Gives free places to waiting callers, or fails them if there will be no more places.
    private func admit() {
        while true {
            let (admitted, isClosed) = guarded.withLock { guarded in
                var admitted: [FirstResult<Void>] = []
                let isClosed = guarded.pipeline.isClosed
                while isClosed || guarded.pipeline.mayReserve, let waiter = guarded.waiters.popFirst() {
                    if !isClosed { guarded.pipeline.reserve() }
                    admitted.append(waiter)
                }
                return (admitted, isClosed)
            }
            let cancelled = admitted.filter { !$0.finish(isClosed ? .failure(BridgeError(.closed)) : .success(())) }
            if isClosed || cancelled.isEmpty { return }
            // The places of cancelled callers go to others.
            giveBackPlaces(cancelled.count)
        }
    }

    // MARK: Refusing

    /// - Parameter isClosed: Whether the message is dropped because the sender is closed, and not because
    ///   there is no room.
    private func drop(_ subject: String, isClosed: Bool) -> BridgeError {
        let (limit, byteLimit) = (context.configuration.routeLimit, context.configuration.routeByteLimit)
        let detail =
            "\(limit) messages or \(byteLimit) bytes are unacknowledged, or the bridge has filled its buffer"
        let error =
            isClosed
            ? BridgeError(.closed, subject: subject) : BridgeError(.bufferFull, subject: subject, detail: detail)
        context.lose(error, \.dropped)
        return error
    }

    // MARK: Ending

    func finish() async {
        let task = guarded.withLock { guarded in
            guarded.pipeline.close()
            return guarded.task
        }
        admit()
        bell.ring()
        await task?.value
        // The pipeline is done or abandoned, so nothing waits for the pause.
        let pause = guarded.withLock { $0.pause }
        pause?.cancel()
        await pause?.value
        await unheard.wait()
    }

    func abandon() {
        let (count, released) = guarded.withLock { $0.pipeline.abandon() }
        context.count(\.dropped, count)
        withExtendedLifetime(released) {}
        tell()
        admit()
        bell.ring()
        unheard.abandon()
    }
}
