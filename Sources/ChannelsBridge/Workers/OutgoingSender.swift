internal import Channels
internal import Synchronization

/// What the listener of an outgoing route does. Everything in it is atomic or constant.
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
    /// Rings for ``finish(_:)`` whenever something that it waits for may have changed.
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

    /// Takes no more messages and returns when those taken have been sent, or have failed. Its task is not
    /// cancelled.
    func finish(_ token: ListenerToken) async {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        // What ends after this check finds the sender shut and rings.
        while !isDone(token) { await bell.wait() }
    }

    private func isDone(_ token: ListenerToken) -> Bool {
        // In this order: what no longer waits has been handed over.
        token.waitingCount == 0 && ended.load(ordering: .sequentiallyConsistent) >= token.deliveredCount
    }

    /// Fails at once what waits to be tried again. The token is cancelled already.
    func abandon() {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        abandoned.open()
        bell.ring()
    }
}
