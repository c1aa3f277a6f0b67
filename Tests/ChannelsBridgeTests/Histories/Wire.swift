import Channels
import ChannelsBridge
import TestSupport

/// The connection of a process to the broker of a ``History``. What goes either way takes its turns, and is lost
/// where the wire breaks meanwhile: a request before the broker has it, or its answer.
final class Wire: Transport, @unchecked Sendable {  // used by one thread
    /// What travels to a handler, in order.
    private final class Line: @unchecked Sendable {  // used by one thread
        var items: [@Sendable () -> Void] = []
        /// The task that carries the items, while it waits for one.
        var carrier: UnsafeContinuation<Void, Never>?
        /// Whether it survives that the wire breaks: the last values do.
        let isKept: Bool
        /// Whether it comes from a group or a request, which ``drainSubscriptions(timeout:)`` waits for.
        let isDrained: Bool
        var hasEnded = false

        init(isKept: Bool = false, isDrained: Bool = false) { (self.isKept, self.isDrained) = (isKept, isDrained) }
    }

    /// A durable message that the broker has delivered, and whose settlement it does not have.
    private struct Delivery {
        let name: String
        let text: String
        let settle: @Sendable (Settlement) -> Void
    }

    private enum Phase { case new, up, down, ended }

    let base: InMemoryTransport
    private unowned let history: History
    private let owner: String
    private var phase = Phase.new
    /// Whether its process was killed.
    private var isCut = false
    /// How often the wire has broken.
    private var session = 0
    private var up: [@Sendable () async -> Void] = []
    private var isMoving = false
    private var lines: [Line] = []
    private var deliveries: [Int: Delivery] = [:]
    private var lastDelivery = 0
    /// How many answers are on their way.
    private var answers = 0
    /// Those who wait for the result of a publication, by its number. A wire that breaks tells all of them at once, so
    /// that nothing is published on the next connection before.
    private var publications: [Int: @Sendable (BridgeError?) -> Void] = [:]
    private var lastPublication = 0
    /// How many messages it has handed to its handlers, how many values, and how many publications have succeeded.
    private(set) var counts = (messages: 0, values: 0, sent: 0)
    /// Whether a letter could not be stored, or its publisher does not know.
    var hasFailedLetters = false

    let capabilities = TransportCapabilities.all

    init(_ history: History, _ owner: String, to broker: InMemoryBroker? = nil) {
        (self.history, self.owner) = (history, owner)
        base = InMemoryTransport(broker ?? history.broker)
    }

    var isDown: Bool { phase == .down }
    var isAtRest: Bool {
        phase != .down && up.isEmpty && answers == 0 && lines.allSatisfy(\.items.isEmpty)
    }

    var state: String {
        let held = deliveries.values.map { "\($0.text) of \($0.name)" }.sorted()
        return "\(phase), \(up.count) up, \(answers) answers, \(lines.map(\.items.count)) down, unsettled \(held)"
    }

    // MARK: What happens to it

    func breakOff() {
        guard phase == .up else { return }
        history.note("\(owner): the connection breaks")
        phase = .down
        lose()
        base.breakConnection()
    }

    func restore() {
        guard phase == .down else { return }
        history.note("\(owner): the connection is back")
        phase = .up
        base.restoreConnection()
        for line in lines { wake(line) }
    }

    /// Cuts the connection of a process that is killed. Nothing of it arrives any more.
    func cut() async {
        isCut = true
        end()
        try? await base.close(timeout: .zero)
    }

    /// Lets the broker deliver a message again that is still being handled, as if it had waited too long.
    func waitTooLong() {
        guard phase == .up, let number = deliveries.keys.sorted().randomElement(using: &history.random) else { return }
        guard let delivery = deliveries.removeValue(forKey: number) else { return }
        history.note("\(owner): the broker waits too long for \(delivery.name) to settle \(delivery.text)")
        history.isDisturbed(delivery.text, delivery.name)
        delivery.settle(.retry(after: .zero))
    }

    private func end() {
        phase = .ended
        lose()
        for line in lines {
            (line.items, line.hasEnded) = ([], true)
            wake(line)
        }
        lines = []
    }

    /// What is on the wire is lost, and what was not settled is disturbed.
    private func lose() {
        session += 1
        up = []
        let unanswered = publications.sorted { $0.key < $1.key }
        publications = [:]
        for (_, onResult) in unanswered { onResult(BridgeError(.notAcknowledged)) }
        for delivery in deliveries.values { history.isDisturbed(delivery.text, delivery.name) }
        deliveries = [:]
        for line in lines where !line.isKept { line.items = [] }
    }

    // MARK: Travelling

    /// Begins to carry what is added to a line. One task does it: the broker reaches its subscribers in an order that
    /// is another one each time, and so would be the order of tasks that are created then.
    private func begin(_ line: Line) {
        lines.append(line)
        Task { [self] in
            while !line.hasEnded {
                await withUnsafeContinuation { continuation in
                    // Checked here, because others may have had a turn before this closure runs.
                    if line.hasEnded || phase == .up && !line.items.isEmpty { return continuation.resume() }
                    line.carrier = continuation
                }
                await history.turn()
                if phase == .up, !line.items.isEmpty { line.items.removeFirst()() }
            }
        }
    }

    private func wake(_ line: Line) {
        line.carrier?.resume()
        line.carrier = nil
    }

    private func add(_ line: Line, _ item: @escaping @Sendable () -> Void) {
        line.items.append(item)
        wake(line)
    }

    private func send(_ arrives: @escaping @Sendable () async -> Void) {
        guard phase == .up else { return }
        up.append(arrives)
        guard !isMoving else { return }
        isMoving = true
        Task { [self] in
            while !up.isEmpty {
                await history.turn()
                if !up.isEmpty { await up.removeFirst()() }
            }
            isMoving = false
        }
    }

    private func check(_ subject: String?) throws {
        switch phase {
        case .up: break
        case .new, .down: throw BridgeError(.notConnected, subject: subject)
        case .ended: throw BridgeError(.closed, subject: subject)
        }
    }

    /// Goes to the broker and back with the result. If the wire breaks on the way back, the broker has done it.
    func round<Value: Sendable>(
        _ subject: String?,
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try check(subject)
        let session = session
        await history.turns(upTo: 2)
        guard session == self.session else { throw BridgeError(.notConnected, subject: subject) }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await history.turns(upTo: 2)
        guard session == self.session else { throw BridgeError(.notAcknowledged, subject: subject) }
        return try result.get()
    }

    // MARK: Transport

    func connect(onEvent: @escaping @Sendable (TransportEvent) -> Void) async throws {
        await history.turns(upTo: 2)
        if isCut { throw BridgeError(.closed) }
        if history.isUnreachable { throw BridgeError(.notConnected, detail: "the broker is away") }
        phase = .up
        try await base.connect { [weak self] event in if self?.phase != .ended { onEvent(event) } }
    }

    func publish(_ message: TransportMessage, durable: Bool) async throws {
        if durable { return try await publishAndWait(message) }
        if phase == .ended { throw BridgeError(.closed, subject: message.subject) }
        guard phase == .up else {
            try await base.publish(message, durable: false)
            counts.sent += 1
            return
        }
        guard message.body.count <= History.bodyLimit else {
            throw BridgeError(.payloadTooLarge, subject: message.subject)
        }
        counts.sent += 1
        let session = session
        send { [self] in
            // The wire may have broken when it was already on its way. Then it is lost, and the broker's side must not keep
            // it for the next connection, after later ones.
            if session == self.session { try? await base.publish(message, durable: false) }
        }
    }

    /// For letters, and for what a tool puts back.
    private func publishAndWait(_ message: TransportMessage) async throws {
        do {
            try await round(message.subject) { [self] in
                try await base.publish(message, durable: true)
                history.isStored(message)
            }
        } catch {
            hasFailedLetters = true
            throw error
        }
    }

    func publishDurably(
        _ message: TransportMessage,
        isRepeated: Bool,
        onResult: @escaping @Sendable (BridgeError?) -> Void
    ) async throws {
        try check(message.subject)
        lastPublication += 1
        let number = lastPublication
        publications[number] = onResult
        send { [self] in
            var problem: BridgeError?
            do {
                try await base.publishDurably(message, isRepeated: isRepeated) { _ in }
                history.isStored(message)
            } catch { problem = error as? BridgeError }
            answers += 1
            Task { [problem] in
                await history.turns(upTo: 3)
                answers -= 1
                guard let onResult = publications.removeValue(forKey: number) else { return }
                if problem == nil { counts.sent += 1 }
                onResult(problem)
            }
        }
    }

    func subscribe(
        _ subscription: TransportSubscription,
        onMessage: @escaping @Sendable (InboundMessage) -> Void
    ) async throws {
        try check(subscription.pattern.text)
        await history.turns(upTo: 2)
        let line = Line(isDrained: subscription.durableName == nil)
        begin(line)
        try await base.subscribe(subscription) { [weak self] inbound in
            guard let self else { return }
            let arrived = wrapped(inbound, subscription)
            add(line) { [self] in
                counts.messages += 1
                onMessage(arrived)
            }
        }
    }

    /// A durable message whose settlement travels, too.
    private func wrapped(_ inbound: InboundMessage, _ subscription: TransportSubscription) -> InboundMessage {
        guard let settle = inbound.settle, let name = subscription.durableName else { return inbound }
        let text = History.text(of: inbound.message)
        lastDelivery += 1
        let number = lastDelivery
        let place = History.name(name, inbound.message.subject)
        deliveries[number] = Delivery(name: place, text: text, settle: settle)
        var wrapped = InboundMessage(
            inbound.message,
            deliveryCount: inbound.deliveryCount,
            identity: inbound.identity,
            sequence: inbound.sequence
        ) { [weak self] settlement in
            guard let self else { return }
            guard let settlement else {
                // Released without a word: the broker delivers it again.
                if deliveries.removeValue(forKey: number) != nil { history.isDisturbed(text, place) }
                return
            }
            send { [self] in
                guard let delivery = deliveries.removeValue(forKey: number) else { return }
                // What was put back is another message, which other names acknowledge unheard.
                let isPutBack = inbound.message.headers["dead-letter-name"] != nil
                if settlement == .acknowledged, !isPutBack { history.isSettled(text, place) }
                delivery.settle(settlement)
            }
        }
        wrapped.secondsSince1970 = inbound.secondsSince1970
        return wrapped
    }

    func limitPrefetch(to limit: Int, of subscription: TransportSubscription) {
        if phase != .ended { base.limitPrefetch(to: limit, of: subscription) }
    }

    func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        try await round(message.subject) { [base] in try await base.request(message, timeout: timeout) }
    }

    func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        try check(subject)
        await history.turns(upTo: 2)
        let line = Line(isDrained: true)
        begin(line)
        try await base.respond(to: subject) { [weak self] request in
            guard let self else { return }
            add(line) {
                onRequest(InboundRequest(request.message) { reply in self.send { request.reply(reply) } })
            }
        }
    }

    func store(_ message: TransportMessage) async throws -> UInt64 {
        let revision = try await round(message.subject) { [self] in try await storeOnce(message) }
        counts.sent += 1
        return revision
    }

    /// The broker recognises what it has stored, and does not store it over what others have stored since.
    private func storeOnce(_ message: TransportMessage) async throws -> UInt64 {
        let id = message.headers[TransportHeaders.id] ?? ""
        if let known = history.revisions[id] { return known }
        let revision = try await base.store(message)
        history.revisions[id] = revision
        history.values[message.subject] = History.text(of: message)
        return revision
    }

    func storeIfNone(_ message: TransportMessage) async throws -> UInt64? {
        let revision = try await round(message.subject) { [self] () -> UInt64? in
            let id = message.headers[TransportHeaders.id] ?? ""
            if let known = history.revisions[id] { return known }
            guard let revision = try await base.storeIfNone(message) else { return nil }
            history.revisions[id] = revision
            history.values[message.subject] = History.text(of: message)
            return revision
        }
        if revision != nil { counts.sent += 1 }
        return revision
    }

    func watch(_ pattern: ChannelPattern, onValue: @escaping @Sendable (StoredValue) -> Void) async throws {
        try check(pattern.text)
        await history.turns(upTo: 2)
        let line = Line(isKept: true)
        try await base.watch(pattern) { [weak self] value in
            self?.add(line) { [weak self] in
                self?.counts.values += 1
                onValue(value)
            }
        }
        begin(line)
        // The values that are stored already arrive before it returns.
        while !line.items.isEmpty { line.items.removeFirst()() }
    }

    func drainSubscriptions(timeout: Duration) async {
        await base.drainSubscriptions(timeout: timeout)
        while phase == .up, lines.contains(where: { $0.isDrained && !$0.items.isEmpty }) { await history.turn() }
    }

    func close(timeout: Duration) async throws {
        while phase == .up, !up.isEmpty || isMoving { await history.turn() }
        guard phase != .ended else { return }
        end()
        try await base.close(timeout: timeout)
    }
}
