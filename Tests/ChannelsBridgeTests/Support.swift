import Channels
import ChannelsBridge
import ChannelsTesting
@_exported public import TestSupport
import Testing

struct Sale: Codable, Hashable, Sendable {
    var total: Int
}

struct Order: Codable, Hashable, Sendable {
    var dish: String
}

extension ChannelName<Sale> {
    static var sold: Self { "shop.sold" }
    static var lastSale: Self { "shop.lastSale" }
}

extension StateName<Sale> {
    static var lastSale: Self { "shop.lastSale" }
}

/// Sets the last sale before the bridge runs, so that it is the first value.
func setLastSale(_ board: Switchboard, _ bridge: Bridge) {
    board.state(.lastSale, initial: Sale(total: -1)).set(Sale(total: 0))
}

extension ChannelName<Order> {
    static var ordered: Self { "kitchen.ordered" }
}

extension RequestName<String, Int> {
    static var price: Self { "shop.price" }
}

struct Trouble: Error, CustomStringConvertible {
    var description = "trouble"
}

/// A process in miniature: a switchboard and a bridge that runs in a task.
final class MiniProcess: Sendable {
    let board: Switchboard
    let transport: any Transport
    let bridge: Bridge
    let faults: Recorder<Fault>
    let deadLetters: Recorder<DeadLetter>
    private let task: Task<Void, any Error>

    /// Runs a bridge and returns when it carries messages.
    init(
        _ name: String = "process",
        _ transport: any Transport,
        _ routes: [BridgeRoute],
        configuration: BridgeConfiguration = .quick,
        holdingDeadLetters gate: Gate? = nil,
        board given: Switchboard? = nil,
        waits: Bool = true,
        beforeRunning: (Switchboard, Bridge) -> Void = { _, _ in }
    ) async {
        let faults = Recorder<Fault>()
        let deadLetters = Recorder<DeadLetter>()
        board = given ?? Switchboard(onFault: { faults.record($0) })
        let bridge = Bridge(
            name,
            switchboard: board,
            transport: transport,
            routes: routes,
            configuration: configuration
        ) { letter in
            deadLetters.record(letter)
            await gate?.wait()
        }
        self.transport = transport
        self.bridge = bridge
        self.faults = faults
        self.deadLetters = deadLetters
        beforeRunning(board, bridge)
        task = Task { try await bridge.run() }
        if waits { _ = await bridge.status.first { $0.isReady } }
    }

    /// Ends the bridge.
    func stop() async throws {
        task.cancel()
        try await task.value
    }

    /// Waits until the bridge ends by itself.
    func end() async throws { try await task.value }

    /// Records what is heard on a name, as long as the token lives.
    func recorder<Message: Sendable>(_ name: ChannelName<Message>) -> (Recorder<Message>, ListenerToken) {
        let recorder = Recorder<Message>()
        return (recorder, board[name].listen { message in recorder.record(message) })
    }
}

extension BridgeConfiguration {
    /// For tests: nothing waits before it is tried again.
    static var quick: BridgeConfiguration {
        BridgeConfiguration(
            backoff: Backoff(first: .zero, limit: .zero),
            requestTimeout: .patience,
            closeTimeout: .patience
        )
    }

    func with(_ change: (inout BridgeConfiguration) -> Void) -> BridgeConfiguration {
        var copy = self
        change(&copy)
        return copy
    }
}

/// A transport that hands the result of each attempt to the test.
struct Attempts: Transport {
    struct Attempt: Sendable {
        let message: TransportMessage
        let isRepeated: Bool
        let end: @Sendable (BridgeError?) -> Void

        var total: String { String(decoding: message.body, as: UTF8.self) }
    }

    let attempts = Recorder<Attempt>()
    let events = Recorder<@Sendable (TransportEvent) -> Void>()
    let capabilities: TransportCapabilities = .all

    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws { events.record(onEvent) }
    func publish(_ message: TransportMessage, durable: Bool) async throws {}
    func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        attempts.record(Attempt(message: message, isRepeated: isRepeated, end: onResult))
    }
    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {}
    func close(timeout: Duration) async throws {}
}

/// A transport on which nothing comes in but what a test hands to its subscribers.
struct FedTransport: Transport {
    let subscribers = Recorder<@Sendable (InboundMessage) -> Void>()
    let published = Recorder<TransportMessage>()
    let capabilities: TransportCapabilities = .all

    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {}
    func publish(_ message: TransportMessage, durable: Bool) async throws { published.record(message) }
    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws { subscribers.record(onMessage) }
    func close(timeout: Duration) async throws {}
}

/// How a handler finds the bridge, which holds it: weakly.
final class BridgeReference: @unchecked Sendable {  // written once, before the bridge runs
    weak var bridge: Bridge?
}

/// A clock that stands still until a test moves it.
///
/// Guarded by its lock; continuations are resumed without it.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration = .zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        func duration(to other: Instant) -> Duration { other.offset - offset }

        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let until: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var time = Instant()
        var sleepers: [Int: Sleeper] = [:]
        var lastNumber = 0
    }

    private let state = Locked(State())
    /// The length of every sleep that began.
    let sleeps = Recorder<Duration>()

    var now: Instant { state.withLock { $0.time } }

    var minimumResolution: Duration { .nanoseconds(1) }

    /// How many sleep now.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// When the next of them wakes.
    var next: Instant? { state.withLock { $0.sleepers.values.map(\.until).min() } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let length = state.withLock { state -> Duration? in
                    guard !Task.isCancelled else { return nil }
                    if deadline > state.time {
                        state.sleepers[number] = Sleeper(until: deadline, continuation: continuation)
                    }
                    return state.time.duration(to: deadline)
                }
                guard let length else { return continuation.resume(throwing: CancellationError()) }
                if length <= .zero { continuation.resume() }
                sleeps.record(length)
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.time = state.time.advanced(by: duration)
            let awake = state.sleepers.filter { $0.value.until <= state.time }
            for number in awake.keys { state.sleepers[number] = nil }
            return awake.values.map(\.continuation)
        }
        for continuation in awake { continuation.resume() }
    }
}

extension TransportMessage {
    /// An event in binary mode, as a bridge in another process sends it.
    static func event(
        _ json: String,
        to subject: String,
        type: String? = "Sale",
        id: String = "1",
        source: String = "elsewhere"
    ) throws -> TransportMessage {
        var headers: TransportHeaders = ["ce-specversion": "1.0", "content-type": "application/json"]
        try headers.set(id, for: "ce-id")
        try headers.set(source, for: "ce-source")
        if let type { try headers.set(type, for: "ce-type") }
        return try TransportMessage(subject: subject, headers: headers, body: Array(json.utf8))
    }
}

/// A transport that is connected, without a bridge.
func connectedTransport(_ broker: InMemoryBroker) async throws -> InMemoryTransport {
    let transport = InMemoryTransport(broker)
    try await transport.connect { _ in }
    return transport
}

/// What comes in when the test says so, and what was counted when it was settled.
struct Fed {
    let transport = FedTransport()
    let settled = Recorder<(settlement: Settlement, statistics: BridgeStatistics)>()
    let reference = BridgeReference()

    func deliver(_ json: String, id: String, to route: Int = 0, durable: Bool = true, delivery: Int = 1) throws {
        deliver(try .event(json, to: "shop.sold", id: id), id: id, to: route, durable: durable, delivery: delivery)
    }

    func deliver(_ message: TransportMessage, id: String, to route: Int = 0, durable: Bool = true, delivery: Int = 1) {
        let settle: @Sendable (Settlement?) -> Void = { settlement in
            guard let settlement else { return }
            settled.record((settlement, reference.bridge?.statistics ?? BridgeStatistics()))
        }
        transport.subscribers.all[route](
            InboundMessage(message, deliveryCount: delivery, identity: id, onSettled: durable ? settle : nil)
        )
    }

    /// What was settled, from the last one that was asked for on.
    func next(_ number: Int) async -> (settlement: Settlement, statistics: BridgeStatistics) {
        await settled.first(number)[number - 1]
    }
}

extension InboundMessage {
    /// Settles this message when another one is that stands for it.
    var resettle: (@Sendable (Settlement?) -> Void)? {
        guard let settle else { return nil }
        return { if let settlement = $0 { settle(settlement) } }
    }
}
