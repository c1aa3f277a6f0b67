#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import Foundation
import GRDB

/// One process of a ``World``: a connection, and what its listeners have heard and hold.
final class Process: @unchecked Sendable {  // used by one thread
    let place: Int
    private unowned let world: World
    private var mailbox: FileMailbox?
    private var connection: FileConnection?
    var isStopped = false
    private(set) var activity = 0

    private var subscribed: Set<String> = []
    private var isWatching = false
    private var isPlain = false
    private var held: [(name: String, text: String, message: InboundMessage)] = []
    /// What it has settled, and what may not be written.
    private(set) var unwritten: [(name: String, text: String)] = []
    /// The number of the last message that each name heard for the first time in this session.
    private var last: [String: UInt64] = [:]
    private var plain: Set<String> = []
    private(set) var value: String?
    private var revision: UInt64 = 0
    /// What is not answered.
    private var pending = 0
    /// How many messages of a name it holds.
    private var limit = 1
    private var waiting: Set<String> = []

    init(_ place: Int, _ world: World) { (self.place, self.world) = (place, world) }

    var isRunning: Bool { connection != nil }
    /// Whether nothing of it waits for the file, or for an answer.
    var isIdle: Bool {
        guard let connection, connection.session != nil, mailbox?.isEmpty == true else { return false }
        return pending == 0 && held.isEmpty && connection.commits.count == 0
    }
    var state: String {
        "pending \(waiting.sorted()), held \(held.map(\.text)), session \(connection?.session == nil ? "none" : "open")"
    }

    // MARK: Its life

    func start() {
        guard connection == nil else { return }
        world.note("start \(place)")
        guard let mailbox = try? FileMailbox() else { return world.fail("no mailbox") }
        var configuration = SQLiteConfiguration(
            path: world.path,
            retention: .init(age: .seconds(100), messages: 5),
            busyTimeout: .milliseconds(Int.random(in: 1...50, using: &world.random))
        )
        limit = Int.random(in: 1...8, using: &world.random)
        configuration.bodyLimit = 1_000
        (subscribed, held, last, plain, isWatching, isPlain) = ([], [], [:], [], false, false)
        (pending, waiting, value, revision) = (0, [], nil, 0)
        self.mailbox = mailbox
        connection = FileConnection(configuration, mailbox, world.environment) { [unowned self] event in
            heard(event)
        } opened: { [unowned self] error in
            activity += 1
            guard error != nil else { return }
            world.note("\(place) cannot open: \(error!)")
            connection = nil
        }
    }

    func kill() {
        connection?.kill()
        leave()
    }

    private func leave() {
        connection = nil
        mailbox = nil
        (held, unwritten) = ([], [])
        pending = 0
        waiting = []
    }

    func close() {
        guard let mailbox, !isStopped else { return }
        world.note("close \(place)")
        held = []
        mailbox.send { [unowned self] connection in
            connection.close { error in
                self.world.note("closed \(self.place) \(error.map { "\($0)" } ?? "")")
                self.hasClosed = true
            }
        }
        turn()
    }

    private var hasClosed = false

    func turn() {
        guard let connection, let mailbox, !isStopped else { return }
        for request in mailbox.take() { request(connection) }
        // The system tells of what others have written.
        connection.logIsWritten(world.now)
        connection.memberHasClosed()
        var next = connection.turn(world.now)
        // What is due at once is soon done: it waits for the clock, or for others.
        var repetitions = 0
        while let due = next, due <= world.now, repetitions < 100 {
            for request in mailbox.take() { request(connection) }
            next = connection.turn(world.now)
            repetitions += 1
        }
        if repetitions == 100 { world.fail("\(place) is due at once again and again: \(state)") }
        if connection.commits.count == 0 { unwritten = [] }
        guard next == nil || hasClosed else { return }
        hasClosed = false
        leave()
    }

    private func heard(_ event: TransportEvent) {
        activity += 1
        world.note("\(place): \(event)")
    }

    // MARK: What it does

    private func ask(_ what: String, _ request: @escaping @Sendable (FileConnection, @escaping () -> Void) -> Void) {
        guard let mailbox else { return }
        pending += 1
        waiting.insert(what)
        mailbox.send { [unowned self, unowned mailbox] connection in
            request(connection) {
                // Not one of a process that was killed.
                guard self.mailbox === mailbox else { return }
                self.pending -= 1
                self.waiting.remove(what)
                self.activity += 1
            }
        }
    }

    func publish(_ text: String, isDurable: Bool) {
        guard isRunning else { return }
        world.note("\(place) publishes \(text) \(isDurable ? "" : "(plain)")")
        ask(text) { [unowned self] connection, finish in
            guard
                let message = try? TransportMessage(
                    subject: "shop.sold",
                    headers: ["ce-id": text],
                    body: Array(text.utf8)
                )
            else { return }
            let change = CommitQueue.Change(kind: isDurable ? .message : .plain) { db, _ in
                _ = try SQLiteSchema.insert(message, durable: isDurable, at: self.world.wallNow, db)
            } end: { error in
                if error == nil, isDurable { self.world.stores(text) }
                self.world.note("\(text) \(error.map { "\($0)" } ?? "stored")")
                finish()
            }
            connection.add(change)
        }
    }

    func store() {
        let text = "v\(Int.random(in: 0..<1_000_000, using: &world.random))"
        ask(text) { [unowned self] connection, finish in
            guard let message = try? TransportMessage(subject: "shop.open", body: Array(text.utf8)) else { return }
            connection.store(message, ifNone: false) { result in
                if case .success = result {
                    self.world.contents.value = text
                    self.world.note("\(self.place) stored \(text)")
                }
                finish()
            }
        }
    }

    func subscribeToAll() {
        for name in World.names { subscribe(name) }
        watch()
    }

    func subscribeToMore() {
        switch Int.random(in: 0..<4, using: &world.random) {
        case 0: watch()
        case 1: hearPlain()
        default: subscribe(World.names.randomElement(using: &world.random)!)
        }
    }

    func subscribe(_ name: String) {
        guard connection != nil, subscribed.insert(name).inserted else { return }
        world.note("\(place) subscribes \(name)")
        let subscription = TransportSubscription(to: "shop.>", durableName: name, prefetchLimit: limit)
        let durable = SQLiteDurableName(name, subscription, HandlerQueue { [unowned self] in hear($0, name) })
        ask("subscribe \(name)") { [unowned self] connection, finish in
            connection.subscribe(durable) { result in
                if case .failure = result { self.subscribed.remove(name) }
                finish()
                if case .failure = result, !self.isStopped { self.subscribe(name) }
            }
        }
    }

    private func watch() {
        guard connection != nil, !isWatching else { return }
        isWatching = true
        let queue = HandlerQueue<StoredValue> { [unowned self] value in
            activity += 1
            if value.revision <= revision {
                world.fail("\(place) has the revision \(value.revision) after \(revision)")
            }
            (self.value, revision) = (String(decoding: value.message.body, as: UTF8.self), value.revision)
        }
        ask("watch") { [unowned self] connection, finish in
            connection.watch("shop.open", queue) { result in
                if case .failure = result { self.isWatching = false }
                finish()
                if case .failure = result, !self.isStopped { self.watch() }
            }
        }
    }

    private func hearPlain() {
        guard connection != nil, !isPlain else { return }
        isPlain = true
        let queue = HandlerQueue<InboundMessage> { [unowned self] inbound in
            let text = String(decoding: inbound.message.body, as: UTF8.self)
            activity += 1
            if !plain.insert(text).inserted { world.fail("\(place) has heard \(text) twice without a durable name") }
        }
        ask("plain") { [unowned self] connection, finish in
            connection.subscribe(to: "shop.>", from: .new, queue) { result in
                if case .failure = result { self.isPlain = false }
                finish()
            }
        }
    }

    // MARK: What it hears

    private func hear(_ inbound: InboundMessage, _ name: String) {
        activity += 1
        let text = String(decoding: inbound.message.body, as: UTF8.self)
        world.note("\(place) \(name) hears \(text) for the \(inbound.deliveryCount). time")
        if world.contents.settled[name]?.contains(text) == true {
            world.fail("\(name) hears \(text), which was settled, again")
        }
        for other in world.processes where other.holds(text, name) {
            world.fail("\(other.place) and \(place) hold \(text) of \(name)")
        }
        if inbound.deliveryCount == 1, let number = inbound.sequence {
            if let last = last[name], last >= number { world.fail("\(place) \(name) hears \(text) out of order") }
            last[name] = number
        }
        held.append((name, text, inbound))
    }

    private func holds(_ text: String, _ name: String) -> Bool {
        isRunning && held.contains { $0.name == name && $0.text == text }
    }

    func settleOne() {
        guard !held.isEmpty else { return }
        let (name, text, message) = held.remove(at: Int.random(in: held.indices, using: &world.random))
        switch Int.random(in: 0..<6, using: &world.random) {
        case 0: message.settle?(.retry(after: .zero))
        case 1: message.settle?(.retry(after: .milliseconds(Int.random(in: 1...5_000, using: &world.random))))
        // Released without a word.
        case 2: world.note("\(place) drops \(text)")
        default:
            acknowledge(name, text, message)
        }
    }

    private func acknowledge(_ name: String, _ text: String, _ message: InboundMessage) {
        world.contents.heard[name, default: []].insert(text)
        unwritten.append((name, text))
        message.settle?(.acknowledged)
    }

    func settleAll() {
        let all = held
        held = []
        for (name, text, message) in all {
            acknowledge(name, text, message)
        }
    }

    // MARK: What happens to the file

    /// What it holds is of the file that is lost.
    func fileWentBack() {
        last = [:]
        plain = []
        if isRunning { held = [] }
    }

    func nameIsGone(_ name: String) {
        held.removeAll { $0.name == name }
        last[name] = nil
    }
}
#endif
