internal import Channels
internal import Synchronization

/// Sends messages that are not durable: each is handed to the transport, once. All its state is atomic or
/// constant.
final class PromptSender: RouteSender {
    private let context: BridgeContext
    private let packaging: Packaging
    /// The patterns of routes that take precedence: they send what they match.
    private let earlier: [ChannelPattern]
    private let isOpen = Atomic<Bool>(true)
    private let ended = Atomic<Int>(0)
    /// Rings when a condition that ``finish(_:)`` waits for may have changed.
    private let bell = Bell()

    init(
        _ context: BridgeContext,
        shadowedBy earlier: [ChannelPattern],
        _ packaging: Packaging
    ) {
        self.context = context
        self.earlier = earlier
        self.packaging = packaging
    }

    var buffering: BufferingPolicy { .oldest(context.configuration.routeLimit) }

    func take(_ message: any Sendable, postedTo name: String) -> Departure? {
        guard isOpen.load(ordering: .acquiring), !earlier.contains(where: { $0.matches(name) }) else { return nil }
        guard let charge = context.outgoing.charge(messages: 1) else {
            let detail = "\(context.configuration.messageLimit / 2) messages of the bridge wait to be sent"
            let error = BridgeError(.bufferFull, subject: name, detail: detail)
            context.lose(error, \.dropped)
            Switchboard.refusePost(because: error)
            return nil
        }
        return Departure(message, to: name, charge: charge)
    }

    func send(_ departure: Departure) async throws {
        defer { sendHasEnded() }
        do {
            try await context.isReady.wait()
            try await context.transport.publish(try packaging.pack(departure), durable: false)
            context.count(\.sent)
        } catch {
            let error = BridgeError.from(error, subject: departure.subject)
            context.count(\.failed)
            context.report(error, on: departure.subject)
            throw error
        }
    }

    func work() {}
    func connectionIsBack() {}

    // MARK: Ending

    private func sendHasEnded() {
        ended.wrappingAdd(1, ordering: .sequentiallyConsistent)
        if !isOpen.load(ordering: .sequentiallyConsistent) { bell.ring() }
    }

    func finish(_ token: ListenerToken) async {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        // A send that ends after this check sees that the sender is closed, and rings.
        while !isDone(token) { await bell.wait() }
    }

    private func isDone(_ token: ListenerToken) -> Bool {
        // In this order: a message that no longer waits has been delivered to `send`.
        token.waitingCount == 0 && ended.load(ordering: .sequentiallyConsistent) >= token.deliveredCount
    }

    func abandon() {
        isOpen.store(false, ordering: .sequentiallyConsistent)
        bell.ring()
    }

    func add(_ token: ListenerToken, to statistics: inout BridgeStatistics) {
        // Those that are being sent, too. In this order: one that moves on meanwhile is counted.
        let ended = ended.load(ordering: .sequentiallyConsistent)
        statistics.waitingToSend += max(token.waitingCount + token.deliveredCount - ended, 0)
        statistics.dropped += token.droppedCount + token.discardedCount
    }
}
