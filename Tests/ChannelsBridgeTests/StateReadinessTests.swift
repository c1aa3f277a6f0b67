import Channels
import ChannelsTesting
import Dispatch
import Testing

@testable import ChannelsBridge

/// When a bridge with states is ready. One at a time, because they hold a thread.
@Suite(.hangLimit, .serialized)
struct StateReadinessTests {
    private let broker = InMemoryBroker()
    private let route = BridgeRoute.both(state: .lastSale, initial: Sale(total: 0))

    private func state(of process: MiniProcess) -> StateChannel<Sale> {
        process.board.state(.lastSale, initial: Sale(total: -1))
    }

    /// What is set from then on is not replaced by what the broker had before.
    @Test func bridgeIsReadyWhenTheStateOfTheBrokerIsHere() async throws {
        let sender = try await connectedTransport(broker)
        _ = try await sender.store(try .event(#"{"total":1}"#, to: "shop.lastSale", id: "1"))
        let (gate, order) = (DispatchSemaphore(value: 0), Recorder<String>())
        let codec = HeldCodec(gate: gate, order: order)
        let late = await MiniProcess("late", InMemoryTransport(broker), [route.encoded(with: codec)], waits: false)
        async let ready: Void = {
            try await late.bridge.waitUntilReady()
            order.record("ready")
        }()
        _ = await order.first(1)
        gate.signal()
        try await ready
        #expect(order.all == ["decoding", "decoded", "ready"])
        #expect(state(of: late).value == Sale(total: 1))
        let stored = Recorder<String>()
        try await sender.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        state(of: late).set(Sale(total: 2))
        await stored.wait { $0.last == #"{"total":2}"# }
        try await late.stop()
    }

    /// The connection blinks, or ends for good, while the value of the broker is being decoded.
    @Test(arguments: [false, true])
    func bridgeWithoutTheStateOfTheBrokerIsNotReadyWhateverItsConnectionDoes(ends: Bool) async throws {
        let sender = try await connectedTransport(broker)
        _ = try await sender.store(try .event(#"{"total":1}"#, to: "shop.lastSale", id: "1"))
        let (gate, order) = (DispatchSemaphore(value: 0), Recorder<String>())
        let events = Recorder<@Sendable (TransportEvent) -> Void>()
        var telling = AlteredTransport(broker)
        telling.hears = { events.record($0) }
        let (phases, tokens) = (Recorder<BridgeStatus.Phase>(), Recorder<ListenerToken>())
        let route = route.encoded(with: HeldCodec(gate: gate, order: order))
        let late = await MiniProcess("late", telling, [route], waits: false) { _, bridge in
            tokens.record(bridge.status.listen { phases.record($0.phase) })
        }
        _ = await order.first(1)
        let tell = try #require(events.all.first)
        tell(.disconnected(reason: BridgeError(.notConnected, detail: "the cable")))
        #expect(late.bridge.status.value.phase == .connecting)
        #expect(late.bridge.status.value.reason?.detail == "the cable")
        tell(.reconnected(gap: .zero, unsent: 0))
        #expect(late.bridge.status.value.phase == .connecting && late.bridge.status.value.reason == nil)
        if ends { tell(.closed(reason: BridgeError(.authenticationFailed, detail: "expired"))) }
        gate.signal()
        if ends {
            await #expect { try await late.end() } throws: { ($0 as? BridgeError)?.code == .authenticationFailed }
        } else {
            try await late.bridge.waitUntilReady()
            #expect(state(of: late).value == Sale(total: 1))
            try await late.stop()
        }
        #expect(phases.all.contains(.running) == !ends)
        try await sender.close(timeout: .seconds(1))
        withExtendedLifetime(tokens) {}
    }

    /// The handler is told of a value that the broker had at the start.
    @Test func aHandlerOfAStateHoldsUpNoStartAndIsCancelledPastTheDeadline() async throws {
        let wire = try await connectedTransport(broker)
        _ = try await wire.store(.event("garbage", to: "shop.lastSale"))
        let (begun, isCancelled, ended) = (Gate(), Gate(), Gate())
        let bridge = Bridge(
            "till",
            switchboard: Switchboard(onFault: { _ in }),
            transport: InMemoryTransport(broker),
            routes: [.both(state: .lastSale, initial: Sale(total: 0))],
            configuration: .quick.with { $0.closeTimeout = .milliseconds(1) }
        ) { _ in
            begun.open()
            await withTaskCancellationHandler {
                await isCancelled.wait()
            } onCancel: {
                isCancelled.open()
            }
            ended.open()
        }
        let running = Task { try await bridge.run() }
        await begun.wait()
        try await bridge.waitUntilReady()
        running.cancel()
        // Whether a state counts as unfinished is a matter of the deadline.
        do { try await running.value } catch { #expect((error as? BridgeError)?.code == .closingTimedOut) }
        #expect(ended.isOpen)
        try await wire.close(timeout: .seconds(1))
    }
}

/// Decodes when it is let.
private struct HeldCodec: Codec {
    let contentType = "application/json"
    let gate: DispatchSemaphore
    let order: Recorder<String>

    func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] { try JSONCodec().encode(message) }

    func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
        order.record("decoding")
        gate.wait()
        gate.signal()
        order.record("decoded")
        return try JSONCodec().decode(type, from: bytes)
    }
}
