import Channels
import ChannelsBridge
import TestSupport

/// A process of a ``History`` that runs a relay to an office, which is another broker.
final class Forwarder: @unchecked Sendable {  // used by one thread
    private unowned let history: History
    /// To the broker of the history, and to the office.
    let wires: [Wire]
    private let relay: Relay
    private var run: Task<Void, Never>?
    private var isEnding = false
    private(set) var isOver = false

    init(_ history: History) {
        self.history = history
        wires = [Wire(history, "relay"), Wire(history, "office", to: history.office.broker)]
        var relay = Relay(from: wires[0], to: wires[1], matching: "shop.>")
        relay.clock = history.clock
        self.relay = relay
        history.note("the relay starts")
        run = Task { [self] in
            do { try await relay.run() } catch { history.check(isEnding, "the relay ends by itself: \(error)") }
            history.note("the relay has ended")
            isOver = true
        }
    }

    var isAtRest: Bool { relay.status.value.isReady && wires.allSatisfy(\.isAtRest) }

    func end() {
        isEnding = true
        run?.cancel()
    }

    func kill() async {
        history.note("the relay is killed")
        end()
        for wire in wires { await wire.cut() }
    }
}

/// The target of a relay, with a durable name that hears everything.
final class Office: @unchecked Sendable {  // used by one thread
    let broker: InMemoryBroker
    private let transport: InMemoryTransport
    /// In order.
    private(set) var heard: [(subject: String, text: String)] = []
    /// What is not settled, so that the broker becomes full.
    private var held: [InboundMessage] = []
    private var isHolding = false
    /// Whether it may have refused a message and then taken a later one, which was already on its way.
    private(set) var wasFull = false

    init(_ clock: ManualClock) {
        let limits = InMemoryBroker.Limits(bodyLimit: History.bodyLimit, keptMessages: 6)
        broker = InMemoryBroker(limits: limits, clock: clock)
        transport = InMemoryTransport(broker)
    }

    func open() async {
        try? await transport.connect { _ in }
        try? await transport.subscribe(TransportSubscription(to: ">", durableName: "office")) { [self] inbound in
            heard.append((inbound.message.subject, History.text(of: inbound.message)))
            held.append(inbound)
            hold(isHolding)
        }
    }

    func toggle() { hold(!isHolding) }

    func hold(_ holds: Bool) {
        isHolding = holds
        wasFull = wasFull || holds
        if holds { return }
        for inbound in held { inbound.settle?(.acknowledged) }
        held = []
    }

    func close() async { try? await transport.close(timeout: .zero) }
}

extension History {
    /// "Forwards durable messages from one transport to another, in order and at least once", and "a broker drops
    /// repeats".
    func compareOffice() {
        guard plan.hasRelay else { return }
        let heard = office.heard.filter { messages[$0.text] != nil }
        for (text, message) in messages where message.isStored {
            let count = heard.count { $0.text == text }
            check(count == 1, "the office has heard \(text) \(count) times")
        }
        for (_, all) in Dictionary(grouping: heard, by: { "\($0.subject) \(messages[$0.text]!.poster)" }) {
            let numbers = all.map { messages[$0.text]!.number }
            check(office.wasFull || numbers == numbers.sorted(), "the office has heard \(all.map(\.text))")
        }
    }
}
