internal import Channels
internal import Synchronization

/// Sends messages that are not durable: each is handed to the transport once.
final class PromptSender: RouteSender {
    private let context: BridgeContext
    private let packaging: Packaging
    private let isOpen = Atomic<Bool>(true)
    /// The messages that the listener has yet to send.
    private let unsent = InFlight()

    init(_ context: BridgeContext, _ packaging: Packaging) {
        self.context = context
        self.packaging = packaging
    }

    var buffering: BufferingPolicy { .oldest(context.configuration.routeLimit) }

    func take(_ message: any Sendable, postedTo name: String) -> Departure? {
        guard isOpen.load(ordering: .acquiring) else { return nil }
        guard let charge = context.outgoing.charge(messages: 1) else {
            let detail =
                "\(context.configuration.buffer.messages / 2) messages of the bridge are queued to be sent, half its buffer"
            let error = BridgeError(.bufferFull, subject: name, detail: detail)
            context.lose(error, \.dropped)
            Switchboard.refusePost(because: error)
            return nil
        }
        return Departure(message, to: name, charge: charge, unsent)
    }

    func send(_ departure: Departure) async throws {
        defer { departure.isHeard() }
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

    var isIdle: Bool { unsent.count == 0 }

    func finish() async {
        isOpen.store(false, ordering: .releasing)
        await unsent.wait()
    }

    /// Accepts no more messages. The route's worker cancels the listener, which discards its queued messages,
    /// and the bridge closes the transport, which ends the message being sent.
    func abandon() {
        isOpen.store(false, ordering: .releasing)
    }

    func add(to statistics: inout BridgeStatistics) {
        statistics.waitingToSend += unsent.count
    }
}
