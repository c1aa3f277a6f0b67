#if canImport(Combine) || OpenCombine
internal import Channels
internal import Dispatch
internal import Synchronization

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

/// One subscriber to a ``ChannelPublisher``: the messages queued until it requests them, and which thread calls it.
///
/// A thread delivers if no other is delivering. It also delivers messages that others post meanwhile, up to a limit;
/// then a queue continues. The subscriber is called without the lock.
final class ChannelSubscription<Message: Sendable>: Subscription, Sendable {
    /// The subscriber. It is called on any thread, which Combine requires subscribers to expect, but by one thread at a
    /// time.
    private struct Target: @unchecked Sendable {
        let receive: (Message) -> Subscribers.Demand
        let finish: () -> Void
    }

    /// Unchecked because Combine does not declare a demand, which is a number, as Sendable everywhere.
    private struct State: @unchecked Sendable {
        /// The subscriber; nil when the subscription has ended.
        var target: Target?
        var waiting = WaitingMessages<Message>()
        var demand = Subscribers.Demand.none
        var delivering = Delivering.nobody
        /// How many more messages the delivering thread may deliver.
        var credit = 0
        /// Whether the source was deallocated or finished.
        var isFinished = false
        var token: ListenerToken?

        /// Returns whether the caller is to deliver the queued messages.
        mutating func claim(_ thread: UInt) -> Bool {
            guard delivering == .nobody, target != nil, waiting.isEmpty ? isFinished : demand > .none else {
                return false
            }
            begin(thread, with: waiting.count)
            return true
        }

        /// Lets a thread deliver this many messages, and some that others add meanwhile.
        mutating func begin(_ thread: UInt, with count: Int) {
            delivering = .thread(thread)
            credit = count + mostForOthers
        }
    }

    private enum Delivering: Equatable {
        case nobody, queue
        case thread(UInt)
    }

    private enum Step {
        case message(Message, Target)
        case completion(Target)
        case handOver
        case nothing
    }

    private let state: Locked<State>
    private let buffering: BufferingPolicy
    private let drops: DropCount

    init<S: Subscriber>(_ subscriber: S, _ buffering: BufferingPolicy, _ drops: DropCount)
    where S.Input == Message, S.Failure == Never {
        let target = Target(
            receive: { subscriber.receive($0) },
            finish: { subscriber.receive(completion: .finished) }
        )
        state = Locked(State(target: target))
        self.buffering = buffering
        self.drops = drops
    }

    func start(listeningTo source: some Listenable<Message>) {
        // Freed when the listener ends: when the source is deallocated or finished, or after `cancel`.
        let listening = Listening(self)
        let token = source.listen(isolation: nil) { message in listening.subscription.receive(message) }
        let isOver = state.withLock { state in
            state.token = token
            return state.target == nil
        }
        if isOver { cancel() }
    }

    private final class Listening: Sendable {
        let subscription: ChannelSubscription

        init(_ subscription: ChannelSubscription) { self.subscription = subscription }

        deinit { subscription.finish() }
    }

    private func receive(_ message: Message) {
        let thread = CurrentThread.number
        var dropped: Message?
        let target = state.withLock { state -> Target? in
            guard let target = state.target else { return nil }
            if state.delivering == .nobody, state.waiting.isEmpty, state.demand > .none {
                state.begin(thread, with: 0)
                state.demand -= 1
                return target
            }
            // The subscriber's own posts are delivered by its thread, without a limit.
            if state.delivering == .thread(thread) { state.credit += 1 }
            dropped = state.waiting.add(message, buffering)
            return nil
        }
        if dropped != nil { drops.add() }
        if let target { deliver(target.receive(message)) }
    }

    func request(_ demand: Subscribers.Demand) {
        let delivers = state.withLock { state in
            state.demand += demand
            return state.claim(CurrentThread.number)
        }
        if delivers { deliver() }
    }

    private func finish() {
        let delivers = state.withLock { state in
            state.isFinished = true
            return state.claim(CurrentThread.number)
        }
        if delivers { deliver() }
    }

    func cancel() {
        // Released without the lock, because releasing the token, the messages and the subscriber may run user code.
        var ended = State()
        state.withLock { state in
            swap(&state, &ended)
            // A thread that is inside `deliver` finds no subscriber to call anymore.
            state.delivering = ended.delivering
        }
        ended.token?.cancel()
        withExtendedLifetime(ended) {}
    }

    /// Calls the subscriber as long as there is something to deliver.
    ///
    /// - Parameter demand: The demand that the subscriber returned from the last call.
    private func deliver(_ demand: Subscribers.Demand = .none) {
        var further = demand
        while true {
            let step = state.withLock { state in
                state.demand += further
                return Self.nextStep(&state)
            }
            switch step {
            case .message(let message, let target):
                further = target.receive(message)
            case .completion(let target):
                target.finish()
                return cancel()
            case .handOver:
                return DispatchQueue.global().async { self.goOn() }
            case .nothing:
                return
            }
        }
    }

    /// Delivers the messages left by threads that have reached their limit.
    private func goOn() {
        state.withLock { $0.begin(CurrentThread.number, with: 0) }
        deliver()
    }

    private static func nextStep(_ state: inout State) -> Step {
        if let target = state.target {
            if state.demand > .none, !state.waiting.isEmpty, state.credit <= 0 {
                state.delivering = .queue
                return .handOver
            }
            if state.demand > .none, let message = state.waiting.removeFirst() {
                state.demand -= 1
                state.credit -= 1
                return .message(message, target)
            }
            if state.isFinished, state.waiting.isEmpty { return .completion(target) }
        }
        state.delivering = .nobody
        return .nothing
    }
}

/// How many messages of other threads a thread delivers along with its own.
private let mostForOthers = 64

/// A FIFO of the messages that wait for a subscriber.
private struct WaitingMessages<Message: Sendable>: Sendable {
    private var messages: [Message?] = []
    private var first = 0

    var isEmpty: Bool { first == messages.count }

    var count: Int { messages.count - first }

    /// Adds a message; returns the one that was dropped for it, if any.
    mutating func add(_ message: Message, _ policy: BufferingPolicy) -> Message? {
        var dropped: Message?
        if count >= policy.limit {
            switch policy.kind {
            case .oldest, .unbounded, .automatic: return message
            case .newest: dropped = removeFirst()
            }
        }
        messages.append(message)
        return dropped
    }

    mutating func removeFirst() -> Message? {
        guard !isEmpty else { return nil }
        var message: Message?
        swap(&message, &messages[first])
        first += 1
        // At most about as many messages are moved as have been taken, so the cost is amortized.
        if first >= 32, first * 2 >= messages.count {
            messages.removeFirst(first)
            first = 0
        }
        return message
    }
}

final class DropCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}
#endif
