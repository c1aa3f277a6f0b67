import Channels
import Dispatch

/// How a checked listener is registered.
enum Kind: String, CaseIterable, Sendable {
    case plain, owned, throwing, informed, onActor, onMainActor, onQueue, ownedOnQueue, async, ownedAsync, asyncOnActor
    case oldestOnQueue, newestOnQueue, newestAsync, newestOnActor

    /// Those that are called on the poster's thread, whoever posts.
    var isDirect: Bool {
        switch self {
        case .plain, .owned, .throwing, .informed: true
        default: false
        }
    }

    /// Whether its buffer drops what is too much.
    var isBounded: Bool {
        switch self {
        case .oldestOnQueue, .newestOnQueue, .newestAsync, .newestOnActor: true
        default: false
        }
    }

    /// Whether the listener goes with its owner.
    var isOwned: Bool {
        switch self {
        case .owned, .onActor, .ownedOnQueue, .ownedAsync, .asyncOnActor, .newestOnActor: true
        default: false
        }
    }
}

/// An object that owns listeners.
final class Owner: Sendable {}

/// An actor that owns listeners, and that posts on its own isolation.
actor Desk {
    /// Posts a poster's messages on this actor and off it.
    func post(as poster: Int, _ count: Int, on channel: Channel<Message>) async -> Int {
        await alternate(as: poster, count, on: channel)
    }
}

/// Posts a poster's messages by turns with the caller's isolation, so that listeners there are called directly, and
/// without, so that they hear by their lane. Returns how many listeners were reached in all.
func alternate(
    as poster: Int,
    _ count: Int,
    on channel: Channel<Message>,
    isolation: isolated (any Actor)? = #isolation
) async -> Int {
    var reached = 0
    for number in 0..<count {
        let message = Message(poster: poster, number: number)
        reached += number % 16 < 8 ? channel.post(message) : postWithoutIsolation(message, on: channel)
        // Lets the listeners of this actor have a turn in between.
        if number % 32 == 31 { await Task.yield() }
    }
    return reached
}

private func postWithoutIsolation(_ message: Message, on channel: Channel<Message>) -> Int { channel.post(message) }

/// A registered listener, with what keeps it alive and what watches it.
struct Listener: Sendable {
    let kind: Kind
    let checker: Checker
    let token: ListenerToken
    var owner: (any AnyObject & Sendable)?

    private static let queues = (0..<3).map { DispatchQueue(label: "soak.\($0)") }

    /// Registers one.
    ///
    /// - Parameter desk: The owner of those on an actor; one of its own where there is none.
    init(
        _ kind: Kind,
        on channel: Channel<Message>,
        posters: Int,
        named place: String,
        desk: Desk?,
        _ random: inout SeededGenerator
    ) {
        self.kind = kind
        let checker = Checker("\(kind.rawValue) listener, \(place)", isSerial: !kind.isDirect, posters: posters)
        self.checker = checker
        let priority = random.isOne(in: 4) ? ListenerPriority(Int.random(in: -50...50, using: &random)) : .normal
        let queue = random.isOne(in: 4) ? DispatchQueue.global() : Self.queues.randomElement(using: &random)!
        let limit = Int.random(in: 1...64, using: &random)
        let object = Owner()
        let desk = desk ?? Desk()
        if kind.isOwned { owner = kind == .onActor || kind == .asyncOnActor || kind == .newestOnActor ? desk : object }
        token =
            switch kind {
            case .plain: channel.listen(priority: priority) { checker.note($0) }
            case .owned: channel.listen(object, priority: priority) { _, message in checker.note(message) }
            case .throwing:
                channel.listen(priority: priority) { (message: Message) throws in try checker.noteAndNeverThrow(message)
                }
            case .informed:
                channel.posts.listen(priority: priority) { post in checker.note(post.message) }
            case .onActor:
                channel.listen(desk, priority: priority) { (_: isolated Desk, message) in checker.note(message) }
            case .onMainActor: channel.listen(priority: priority) { @MainActor message in checker.note(message) }
            case .onQueue: channel.listen(on: queue, priority: priority) { checker.note($0) }
            case .ownedOnQueue:
                channel.listen(object, on: queue, priority: priority) { _, message in checker.note(message) }
            case .async:
                channel.listen(priority: priority) { (message: Message) async in await checker.noteAndSuspend(message) }
            case .ownedAsync:
                channel.listen(object, priority: priority) { (_, message: Message) async in
                    await checker.noteAndSuspend(message)
                }
            case .asyncOnActor:
                channel.listen(desk, priority: priority) { (_: isolated Desk, message: Message) async in
                    await checker.noteAndSuspend(message)
                }
            case .oldestOnQueue:
                channel.listen(on: queue, priority: priority, buffering: .oldest(limit)) { checker.note($0) }
            case .newestOnQueue:
                channel.listen(on: queue, priority: priority, buffering: .newest(limit)) { checker.note($0) }
            case .newestAsync:
                channel.listen(priority: priority, buffering: .newest(limit)) { (message: Message) async in
                    await checker.noteAndSuspend(message)
                }
            case .newestOnActor:
                channel.listen(desk, priority: priority, buffering: .newest(limit)) { (_: isolated Desk, message) in
                    checker.note(message)
                }
            }
    }

    /// Waits until nothing waits in front of the listener and none of its calls runs, and ends it.
    func settle() async throws(Failure) {
        try await checker.wait(for: token)
        await token.cancelAndWait()
    }

    /// The equation, for a listener for which `posted` messages were accepted; and its order.
    func check(posted: Int, mayMiss: Bool) throws(Failure) {
        try checker.checkOrder(mayMiss: mayMiss || kind.isBounded)
        try checker.require(0, token.waitingCount, "messages that still wait")
        if !kind.isDirect { try checker.require(checker.calls, token.deliveredCount, "messages counted as delivered") }
        if kind.isDirect || !kind.isBounded {
            try checker.require(0, token.droppedCount, "messages dropped without a bound")
        }
        try checker.require(posted, total, "delivered + dropped + discarded, of messages accepted")
    }

    /// What the listener accounts for.
    var total: Int { checker.calls + token.droppedCount + token.discardedCount }
}

extension Checker {
    fileprivate func noteAndNeverThrow(_ message: Message) throws {
        note(message)
        if message.number < 0 { throw CancellationError() }
    }
}
