#if NATS
import Channels
import ChannelsBridge

/// The messages of a durable name that were delivered to this process and not settled.
///
/// `state` guards all of it.
final class UnsettledMessages: Sendable {
    private struct Message {
        let bytes: Int
        /// When this process let go of it without having settled it; nil while it can be settled.
        var released: ContinuousClock.Instant?
    }

    private struct State {
        /// Keyed by the subject of the acknowledgement, which differs for each delivery.
        var messages: [String: Message] = [:]
        var lastReport = ContinuousClock.now
        var acknowledgementWait: Duration
    }

    private let state: Locked<State>
    private let connection: NATSConnection
    /// Called without the lock when a message no longer takes up room here, with after how long it comes again if it
    /// was not handled.
    private let onSettled: @Sendable (_ bytes: Int, _ comesAgainAfter: Duration?) -> Void

    init(
        _ connection: NATSConnection,
        acknowledgementWait: Duration,
        onSettled: @escaping @Sendable (_ bytes: Int, _ comesAgainAfter: Duration?) -> Void
    ) {
        self.connection = connection
        state = Locked(State(acknowledgementWait: acknowledgementWait))
        self.onSettled = onSettled
    }

    /// How long the server waits for a sign of life before it delivers a message again.
    var acknowledgementWait: Duration {
        get { state.withLock { $0.acknowledgementWait } }
        set { state.withLock { $0.acknowledgementWait = newValue } }
    }

    func hold(_ reply: String, bytes: Int) -> HeldMessage {
        state.withLock { $0.messages[reply] = Message(bytes: bytes) }
        return HeldMessage(reply, self)
    }

    /// The message can no longer be settled: the server delivers it again after its acknowledgement wait.
    fileprivate func letGo(_ reply: String) {
        let bytes = state.withLock { state -> Int? in
            guard state.messages[reply]?.released == nil else { return nil }
            state.messages[reply]?.released = .now
            return state.messages[reply]?.bytes
        }
        if let bytes { onSettled(bytes, acknowledgementWait) }
    }

    fileprivate func settle(_ reply: String, _ settlement: Settlement) {
        guard let message = state.withLock({ $0.messages.removeValue(forKey: reply) }) else { return }
        let answer =
            switch settlement {
            case .acknowledged: "+ACK"
            case .terminated: "+TERM"
            // Without a delay, the server redelivers immediately: a thousand times a second.
            case .retry(let delay): "-NAK {\"delay\": \(max(delay, .milliseconds(1)).nanoseconds)}"
            }
        connection.sendSoon(NATSMessage(subject: reply, payload: Array(answer.utf8)))
        guard message.released == nil else { return }
        if case .retry(let delay) = settlement {
            onSettled(message.bytes, delay)
        } else {
            onSettled(message.bytes, nil)
        }
    }

    /// Reports progress, three times in the acknowledgement wait. Otherwise the server would deliver messages that are
    /// waiting here to another process, and both would handle them.
    ///
    /// - Returns: When to do so next.
    func reportProgress() -> ContinuousClock.Instant {
        let (held, next) = state.withLock { state -> ([String], ContinuousClock.Instant) in
            let now = ContinuousClock.now
            let (overdue, interval) = (now - state.acknowledgementWait, state.acknowledgementWait / 3)
            // A timer is not exact.
            guard state.lastReport + interval <= now + .milliseconds(10) else {
                return ([], state.lastReport + interval)
            }
            state.lastReport = now
            // The server has delivered it again since, with another subject.
            state.messages = state.messages.filter { $0.value.released.map { $0 > overdue } ?? true }
            return (state.messages.filter { $0.value.released == nil }.map(\.key), now + interval)
        }
        send("+WPI", to: held)
        return next
    }

    /// Returns every message to the server, which delivers it to another subscriber at once. To be called
    /// when this process asks for no more: without a delay, they would come back.
    func giveBack() {
        let replies = state.withLock { state in
            defer { state.messages = [:] }
            return Array(state.messages.keys)
        }
        send("-NAK", to: replies)
    }

    /// In the order of the messages: in that of the answers, the server delivers them again.
    private func send(_ answer: String, to replies: [String]) {
        for reply in replies.map({ (Delivery($0)?.streamSequence ?? 0, $0) }).sorted(by: { $0.0 < $1.0 }).map(\.1) {
            var message = NATSMessage(subject: reply, payload: Array(answer.utf8))
            // On the next connection it would be obsolete, and without one it would keep waiting who closes.
            message.isBoundToConnection = true
            connection.sendSoon(message)
        }
    }
}

/// Settles a message. If it is released without that, the server delivers the message again.
final class HeldMessage: Sendable {
    private let reply: String
    private let unsettled: UnsettledMessages

    fileprivate init(_ reply: String, _ unsettled: UnsettledMessages) {
        self.reply = reply
        self.unsettled = unsettled
    }

    deinit { unsettled.letGo(reply) }

    func settle(_ settlement: Settlement) {
        unsettled.settle(reply, settlement)
    }
}
#endif
