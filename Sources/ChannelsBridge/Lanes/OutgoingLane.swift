internal import Channels
internal import Synchronization

/// Sends what is posted in this process to names that match a pattern.
///
/// It listens from when it is made: what is posted before the transport is connected waits.
final class OutgoingLane: Lane {
    private let isDurable: Bool
    private let sender: OutgoingSender
    /// Owns the listener, which holds the sender.
    private let token: ListenerToken
    /// Keeps the channel of a name, so that posting need not make one.
    private let channel: (any AnyObject & Sendable)?

    init(
        pattern: ChannelPattern,
        shadowedBy earlier: [ChannelPattern],
        channel: (any AnyObject & Sendable)?,
        isDurable: Bool,
        typeName: String,
        context: BridgeContext,
        encode: @escaping OutgoingSender.Encode
    ) {
        self.isDurable = isDurable
        self.channel = channel
        let sender = OutgoingSender(context, isDurable: isDurable, typeName: typeName, shadowedBy: earlier, encode)
        self.sender = sender
        token = context.switchboard.listenForBridge(
            matching: pattern,
            buffering: .oldest(context.configuration.outgoingLimit),
            intake: { name, message in sender.take(message, postedTo: name) },
            { name, departure in try await sender.send(departure, to: name) }
        )
    }

    var needs: TransportCapabilities { isDurable ? .durable : [] }

    func finish() async {
        await sender.finish(token)
        token.cancel()
    }

    func abandon() {
        sender.abandon()
        token.cancel()
    }

    func add(to statistics: inout BridgeStatistics) {
        statistics.waitingToSend += token.waitingCount
        statistics.dropped += token.droppedCount + token.discardedCount
    }
}

/// What the listener of an outgoing route does.
///
/// `waiter` is guarded by its lock; the rest is atomic or constant.
final class OutgoingSender: Sendable {
    typealias Encode =
        @Sendable (_ message: any Sendable, _ subject: String, _ context: BridgeContext) throws -> [UInt8]

    /// A message on its way, and what was known when it was posted.
    private struct Departure: Sendable {
        let message: any Sendable
        let number: UInt64
        let time: Timestamp
        let trace: TraceContext?
    }

    private let context: BridgeContext
    private let isDurable: Bool
    private let typeName: String
    private let encode: Encode
    /// The patterns of routes declared before this one, which send what they match.
    private let earlier: [ChannelPattern]
    private let isOpen = Atomic<Bool>(true)
    private let abandoned = Latch()
    private let ended = Atomic<Int>(0)
    private let waiter = Locked<CheckedContinuation<Void, Never>?>(nil)

    init(
        _ context: BridgeContext,
        isDurable: Bool,
        typeName: String,
        shadowedBy earlier: [ChannelPattern],
        _ encode: @escaping Encode
    ) {
        self.context = context
        self.isDurable = isDurable
        self.typeName = typeName
        self.earlier = earlier
        self.encode = encode
    }

    /// Takes a message on the poster's thread.
    func take(_ message: any Sendable, postedTo name: String) -> (any Sendable)? {
        guard isOpen.load(ordering: .acquiring), !earlier.contains(where: { $0.matches(name) }) else { return nil }
        return Departure(message: message, number: context.nextNumber(), time: .now, trace: TraceContext.current)
    }

    /// Sends what was taken. What it throws is the failure of the post.
    func send(_ departure: any Sendable, to subject: String) async throws {
        defer { sendHasEnded() }
        // The intake makes them.
        let departure = departure as! Departure
        do {
            try await context.isReady.wait()
            let body = try encode(departure.message, subject, context)
            let envelope = EventEnvelope(
                id: context.id(departure.number),
                source: context.source,
                type: typeName,
                time: departure.time.text,
                contentType: context.configuration.codec.contentType,
                trace: departure.trace
            )
            let message = try context.pack(body, envelope, to: subject)
            if isDurable {
                // The same message each time, so that the broker and the receivers know it again.
                try await context.trying(subject, unless: abandoned) {
                    try await self.context.transport.publish(message, durable: true)
                }
            } else {
                try await context.transport.publish(message, durable: false)
            }
            context.count(\.sent)
        } catch {
            context.count(\.failed)
            throw BridgeError.from(error, subject: subject)
        }
    }

    // MARK: Ending

    private func sendHasEnded() {
        ended.wrappingAdd(1, ordering: .sequentiallyConsistent)
        guard !isOpen.load(ordering: .sequentiallyConsistent) else { return }
        waiter.withLock { $0.take() }?.resume()
    }

    /// Takes no more messages and returns when those taken have been sent, or have failed.
    func finish(_ token: ListenerToken) async {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        while !isDone(token) {
            await withCheckedContinuation { continuation in
                waiter.withLock { $0 = continuation }
                // The last one may have ended before it could see the continuation.
                if isDone(token) { waiter.withLock { $0.take() }?.resume() }
            }
        }
    }

    private func isDone(_ token: ListenerToken) -> Bool {
        // In this order: what is not waiting any more has been handed over.
        token.waitingCount == 0 && ended.load(ordering: .sequentiallyConsistent) >= token.deliveredCount
    }

    func abandon() {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        abandoned.open()
        waiter.withLock { $0.take() }?.resume()
    }
}
