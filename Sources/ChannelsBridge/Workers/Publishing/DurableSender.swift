internal import Channels

/// Publishes durable messages, several before the first is acknowledged, in order.
///
/// A posted message enters the pipeline on the poster's thread. The route's listener, which hears one message
/// at a time, waits for the result only, so it does not slow the pipeline down.
///
/// `guarded` guards the pipeline and what surrounds it. Messages are encoded, and results are told, without
/// it.
final class DurableSender: RouteSender {
    private struct Guarded {
        var pipeline: PublishPipeline<Departure>
        /// What the listener waits for, if it does.
        var listener: (departure: Departure, continuation: CheckedContinuation<Departure.End, Never>)?
        /// Messages whose ends the listener has not heard, refused ones included.
        var untold = 0
        /// How many were acknowledged.
        var sent = 0
        /// Who waits for a place, in order, by number; one that was cancelled is not there any more.
        var waiting = Fifo<UInt64>()
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var task: Task<Void, Never>?
        var pause: Task<Void, Never>?

        /// The listener, if what it waits for has ended.
        mutating func takeListener() -> (CheckedContinuation<Departure.End, Never>, Departure.End)? {
            guard let (departure, continuation) = listener, let end = departure.end else { return nil }
            listener = nil
            return (continuation, end)
        }
    }

    private let context: BridgeContext
    private let pattern: ChannelPattern
    private let format: MessageFormat
    private let encode: EncodeMessage
    /// The patterns of routes that take precedence: they send what they match.
    private let earlier: [ChannelPattern]
    private let guarded: Locked<Guarded>
    /// Rings when there may be something to do, or nothing left.
    private let bell = Bell()
    /// Rings when the listener has heard an end after the pipeline was closed.
    private let told = Bell()
    /// Rings when a pause need not last any longer.
    private let restored = Bell()

    init(
        _ context: BridgeContext,
        publishing pattern: ChannelPattern,
        format: MessageFormat,
        shadowedBy earlier: [ChannelPattern],
        _ encode: @escaping EncodeMessage
    ) {
        self.context = context
        self.pattern = pattern
        self.format = format
        self.earlier = earlier
        self.encode = encode
        guarded = Locked(
            Guarded(
                pipeline: PublishPipeline(
                    limit: context.configuration.outgoingLimit,
                    byteLimit: context.configuration.outgoingByteLimit,
                    window: context.configuration.unacknowledgedLimit
                )
            )
        )
    }

    /// The pipeline has the limit.
    var buffering: BufferingPolicy { .unbounded }

    func take(_ message: any Sendable, postedTo name: String) -> Departure? {
        guard !earlier.contains(where: { $0.matches(name) }) else { return nil }
        let isReserved = Reservation.current?.use(for: self) ?? false
        guard let charge = context.outgoing.charge(messages: 1, isForced: isReserved) else {
            return refusal(of: message, to: name)
        }
        let departure = Departure(message, to: name, number: context.nextNumber(), charge: charge)
        let (isTaken, isTold) = guarded.withLock { guarded in
            let isTaken = guarded.pipeline.take(departure, isReserved: isReserved)
            // A post that is refused is told so, by the listener. As many may wait for that as messages.
            let isTold = guarded.untold < 2 * context.configuration.outgoingLimit
            guard isTaken || isTold && !guarded.pipeline.isClosed else { return (false, false) }
            guarded.untold += 1
            if guarded.task == nil { guarded.task = Task { await self.run() } }
            return (isTaken, true)
        }
        if isTaken { bell.ring() } else if !isTold { drop(name) } else { refuse(departure) }
        return isTold ? departure : nil
    }

    /// The bridge has no room: the listener tells whoever posted.
    private func refusal(of message: any Sendable, to name: String) -> Departure? {
        // Nothing else is charged for it, and it is released soon.
        guard let charge = context.outgoing.charge(isForced: true) else { return nil }
        let departure = Departure(message, to: name, number: context.nextNumber(), charge: charge)
        let isTold = guarded.withLock { guarded in
            guard guarded.untold < 2 * context.configuration.outgoingLimit, !guarded.pipeline.isClosed else {
                return false
            }
            guarded.untold += 1
            return true
        }
        if isTold { refuse(departure) } else { drop(name) }
        return isTold ? departure : nil
    }

    func send(_ departure: Departure) async throws {
        // Usually it has ended: ends come many at a time.
        var end = guarded.withLock { _ in departure.end }
        if end == nil {
            end = await withCheckedContinuation { continuation in
                let end = guarded.withLock { guarded in
                    if departure.end == nil { guarded.listener = (departure, continuation) }
                    return departure.end
                }
                if let end { continuation.resume(returning: end) }
            }
        }
        let isClosed = guarded.withLock { guarded in
            guarded.untold -= 1
            return guarded.pipeline.isClosed
        }
        if isClosed { told.ring() }
        if case .failed(let error) = end { throw error }
    }

    func add(_ token: ListenerToken, to statistics: inout BridgeStatistics) {
        let (waiting, sent) = guarded.withLock { ($0.pipeline.count, $0.sent) }
        statistics.waitingToSend += waiting
        statistics.sent += sent
    }

    // MARK: Running

    func work() {
        guarded.withLock { guarded in
            guarded.pipeline.open()
            if guarded.task == nil { guarded.task = Task { await self.run() } }
        }
        bell.ring()
    }

    func connectionIsBack() {
        restored.ring()
    }

    private func run() async {
        while true {
            let (action, told, hasWaiters) = guarded.withLock { guarded in
                (guarded.pipeline.next(), guarded.takeListener(), !guarded.waiters.isEmpty)
            }
            if let (continuation, end) = told { continuation.resume(returning: end) }
            if hasWaiters { admit() }
            switch action {
            case .encode(let departure): pack(departure)
            case .publish(let entry): await publish(entry)
            case .pause(let attempts): pause(after: attempts)
            case .wait: await bell.wait()
            case .done: return
            }
        }
    }

    /// Tells the listener what it waits for, if that has ended.
    private func tell() {
        if let (continuation, end) = guarded.withLock({ $0.takeListener() }) { continuation.resume(returning: end) }
    }

    /// A message that is not in the pipeline has failed.
    private func fail(_ departure: Departure, _ error: BridgeError) {
        guarded.withLock { _ in departure.end = .failed(error) }
        tell()
    }

    private func pack(_ departure: Departure) {
        do {
            let body = try encode(departure.message, departure.subject)
            let message = try departure.pack(body, format, context)
            let charge = context.outgoing.charge(bytes: message.byteCount)
            let isTaken = guarded.withLock { guarded in
                guard charge != nil else {
                    guarded.pipeline.refused()
                    return false
                }
                return guarded.pipeline.encoded(departure, as: message, charge)
            }
            if !isTaken { refuse(departure) }
        } catch {
            guarded.withLock { $0.pipeline.refused() }
            context.count(\.failed)
            fail(departure, BridgeError.from(error, subject: departure.subject))
        }
    }

    private func publish(_ entry: PublishPipeline<Departure>.Entry) async {
        do {
            try await context.transport.publishDurably(entry.message, isRepeated: entry.attempts > 1) { error in
                self.ended(entry, error)
            }
        } catch {
            ended(entry, BridgeError.from(error, subject: entry.departure.subject))
        }
    }

    /// Called by the transport.
    private func ended(_ entry: PublishPipeline<Departure>.Entry, _ error: BridgeError?) {
        let end: PublishPipeline<Departure>.End =
            error.map { $0.code.mayPass ? .failed : .refused } ?? .acknowledged
        let (isOver, isWorthALook) = guarded.withLock { guarded in
            let isOver = guarded.pipeline.ended(entry.number, with: end)
            if isOver {
                if error == nil { guarded.sent += 1 }
                entry.departure.end =
                    error.map { .failed(BridgeError.from($0, subject: entry.departure.subject)) } ?? .sent
            }
            return (isOver, guarded.pipeline.isWorthALook)
        }
        if isOver {
            if error != nil { context.count(\.failed) }
        } else if let error, entry.attempts % context.configuration.attemptsPerFault == 0 {
            // It is not lost; somebody should look.
            context.report(BridgeError.from(error, subject: entry.departure.subject))
        }
        if isWorthALook { bell.ring() }
    }

    private func pause(after attempts: Int) {
        let delay = context.configuration.backoff.delay(before: attempts)
        let clock = context.configuration.clock
        let pause = Task { [self] in
            await restored.wait(atMost: delay, clock: clock)
            guarded.withLock { $0.pipeline.resume() }
            bell.ring()
        }
        guarded.withLock { $0.pause = pause }
    }

    // MARK: Waiting for room

    /// Whether it publishes what is posted on a name.
    func publishes(_ name: String) -> Bool {
        pattern.matches(name) && !earlier.contains { $0.matches(name) }
    }

    /// Waits for a place, in turn.
    ///
    /// - Throws: ``BridgeError/Code/closed``, `CancellationError`.
    func reserve(for name: String) async throws -> Reservation {
        let number = guarded.withLock { guarded in
            guarded.lastWaiter += 1
            return guarded.lastWaiter
        }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isGranted = guarded.withLock { guarded -> Bool? in
                    // The handler below runs before this, or finds the continuation.
                    if Task.isCancelled || guarded.pipeline.isClosed { return false }
                    // Behind those who wait.
                    if guarded.waiters.isEmpty, guarded.pipeline.reserve() { return true }
                    guarded.waiters[number] = continuation
                    guarded.waiting.append(number)
                    return nil
                }
                if let isGranted { continuation.resume(returning: isGranted) }
            }
        } onCancel: {
            guarded.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: false)
        }
        guard isGranted else {
            try Task.checkCancellation()
            throw BridgeError(.closed, subject: name)
        }
        return Reservation(self)
    }

    func giveBackReservation() {
        guarded.withLock { $0.pipeline.giveBackReservation() }
        admit()
    }

    /// Gives the places that are free to those who wait; if there will be none, tells them.
    private func admit() {
        let (granted, refused) = guarded.withLock { guarded in
            var granted: [CheckedContinuation<Bool, Never>] = []
            guard !guarded.waiters.isEmpty else { return (granted, granted) }
            if guarded.pipeline.isClosed {
                defer { (guarded.waiters, guarded.waiting) = ([:], Fifo()) }
                return (granted, Array(guarded.waiters.values))
            }
            while guarded.pipeline.hasRoom, let number = guarded.waiting.popFirst() {
                guard let waiter = guarded.waiters.removeValue(forKey: number) else { continue }
                _ = guarded.pipeline.reserve()
                granted.append(waiter)
            }
            return (granted, [])
        }
        for waiter in granted { waiter.resume(returning: true) }
        for waiter in refused { waiter.resume(returning: false) }
    }

    // MARK: Refusing

    /// There is no room: what comes last is dropped.
    private func refuse(_ departure: Departure) {
        fail(departure, drop(departure.subject))
    }

    @discardableResult
    private func drop(_ subject: String) -> BridgeError {
        let (limit, byteLimit) = (context.configuration.outgoingLimit, context.configuration.outgoingByteLimit)
        let detail =
            "\(limit) messages or \(byteLimit) bytes wait to be acknowledged, or as much as the bridge may hold"
        let error = BridgeError(.bufferFull, subject: subject, detail: detail)
        context.lose(error, \.dropped)
        return error
    }

    // MARK: Ending

    func finish(_ token: ListenerToken) async {
        let task = guarded.withLock { guarded in
            guarded.pipeline.close()
            return guarded.task
        }
        admit()
        bell.ring()
        await task?.value
        // The pipeline is done, or abandoned: nobody waits for it.
        let pause = guarded.withLock { $0.pause }
        pause?.cancel()
        await pause?.value
        while token.isActive, guarded.withLock({ $0.untold }) > 0 { await told.wait() }
    }

    func abandon() {
        let (left, pause) = guarded.withLock { ($0.pipeline.abandon(), $0.pause) }
        context.count(\.dropped, left.count)
        for departure in left { fail(departure, BridgeError(.closed, subject: departure.subject)) }
        admit()
        pause?.cancel()
        bell.ring()
        told.ring()
    }
}
