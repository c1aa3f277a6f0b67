internal import Channels
internal import Synchronization

/// The listener of an outgoing route. All its state is atomic or constant.
final class OutgoingSender: Sendable {
    typealias Encode =
        @Sendable (_ message: any Sendable, _ subject: String, _ context: BridgeContext) throws -> [UInt8]

    /// A message to be sent, and what was known when it was posted.
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
    /// The patterns of routes that take precedence: they send what they match.
    private let earlier: [ChannelPattern]
    private let isOpen = Atomic<Bool>(true)
    private let abandoned = Latch()
    private let ended = Atomic<Int>(0)
    /// Rings when a condition that ``finish(_:)`` waits for may have changed.
    private let bell = Bell()

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

    /// Accepts a message, on the poster's thread.
    func take(_ message: any Sendable, postedTo name: String) -> (any Sendable)? {
        guard isOpen.load(ordering: .acquiring), !earlier.contains(where: { $0.matches(name) }) else { return nil }
        return Departure(message: message, number: context.nextNumber(), time: .now, trace: TraceContext.current)
    }

    /// Sends an accepted message. Its error becomes the failure of the post.
    func send(_ departure: any Sendable, to subject: String) async throws {
        defer { sendHasEnded() }
        // `take` has created it.
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
                // The same message each time, so that the broker and the receivers recognise it.
                try await context.retrying(subject, unless: abandoned) {
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
        if !isOpen.load(ordering: .sequentiallyConsistent) { bell.ring() }
    }

    /// Accepts no more messages, and returns when the accepted ones have been sent or have failed. Must not
    /// be called in a cancelled task.
    func finish(_ token: ListenerToken) async {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        // A send that ends after this check sees that the sender is closed, and rings.
        while !isDone(token) { await bell.wait() }
    }

    private func isDone(_ token: ListenerToken) -> Bool {
        // In this order: a message that no longer waits has been delivered to `send`.
        token.waitingCount == 0 && ended.load(ordering: .sequentiallyConsistent) >= token.deliveredCount
    }

    /// Ends the retries immediately. The token is already cancelled.
    func abandon() {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        abandoned.open()
        bell.ring()
    }
}
