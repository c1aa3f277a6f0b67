internal import Synchronization

/// The call of an async listener, which copies the message before it first suspends.
@usableFromInline
typealias AsyncListenerCall = @Sendable (MessageAddress, AnyObject?, Envelope?) async throws -> Void

@usableFromInline
enum AsyncIsolation: Sendable {
    case closure((any Actor)?)
    case owner
}

/// The calls of an async listener. They are made by *readers*: tasks that take messages from its mailbox and await the
/// closure for one after the other. A message that arrives starts a reader if the ``OverlappingPolicy`` allows another.
/// A reader ends when nothing waits.
///
/// Guards: the mailbox's lock guards every `var`. Readers also read `body` without it, because it is freed only when
/// there is no reader and none can start. Methods return what their callers must do without the lock: cancelling a
/// task, resuming a continuation and releasing a closure may run user code.
final class AsyncCalls: @unchecked Sendable {  // guards: see above
    /// What a task waits for after the listener has ended.
    enum End {
        /// Until no call is running.
        case calls
        /// Until the closure is freed: no post can see the listener, and nothing waits.
        case listener
    }

    /// The closure and its isolation, which may keep an actor alive. They are freed together.
    struct Body {
        let closure: AsyncListenerCall
        let isolation: AsyncIsolation
    }

    private let overlapping: OverlappingPolicy
    @safe @exclusivity(unchecked) private var body: Body?
    /// How many readers there are, including those that are about to be started.
    private var readers = 0
    /// The task of the one call under ``OverlappingPolicy/replace``; nil until the task is known.
    @safe @exclusivity(unchecked) private var task: Task<PostTracker.Outcome, Never>?
    /// Whether the running call has been replaced by a newer message.
    private(set) var isReplaced = false
    private var waiters = Waiters<End>()

    init(_ closure: @escaping AsyncListenerCall, on isolation: AsyncIsolation, _ overlapping: OverlappingPolicy) {
        body = Body(closure: closure, isolation: isolation)
        self.overlapping = overlapping
    }

    /// Whether a message that arrives while a call runs is dropped.
    var ignores: Bool { overlapping.kind == .ignore }

    /// The policy of the mailbox. The listener's own policy has no effect if at most one message can wait.
    func buffering(_ own: BufferingPolicy) -> BufferingPolicy {
        switch overlapping.kind {
        case .replace: .newest(1)
        case .ignore: .oldest(1)
        case .queue, .concurrent: own
        }
    }

    // Under the lock.

    /// Notes that a message has arrived. Returns whether to start a reader for it, which is counted already.
    func needReader() -> Bool {
        guard readers < overlapping.calls else { return false }
        readers += 1
        return true
    }

    /// Notes that a reader ends, because nothing waits.
    func readerEnds() { readers -= 1 }

    var hasNoReader: Bool { readers == 0 }

    /// Notes that a message has been taken for a call.
    func begin() { isReplaced = false }

    /// Notes the task of the call. Returns whether to cancel it, because another message has arrived.
    private func began(_ task: Task<PostTracker.Outcome, Never>) -> Bool {
        self.task = task
        return isReplaced
    }

    /// Notes that a message has arrived, or that the listener was cancelled. Returns the task to cancel, if any.
    func replace() -> Task<PostTracker.Outcome, Never>? {
        guard overlapping.kind == .replace else { return nil }
        isReplaced = true
        return task
    }

    /// Notes that a call has ended. Returns its task, to be released, and the continuations to resume.
    /// - Parameter isLast: Whether no other call runs.
    func end(isLast: Bool) -> (task: Task<PostTracker.Outcome, Never>?, waiting: [CheckedContinuation<Void, Never>]) {
        defer { task = nil }
        return (task, isLast ? waiters.take { $0 == .calls } : [])
    }

    /// Lets a task wait. Returns false if what it waits for has already happened.
    func wait(_ continuation: CheckedContinuation<Void, Never>, until end: End, isCalling: Bool) -> Bool {
        guard end == .calls ? isCalling : body != nil else { return false }
        waiters.add(continuation, until: end)
        return true
    }

    /// Takes out the closure, which must be released before the continuations are resumed.
    func free() -> (body: Body?, waiting: [CheckedContinuation<Void, Never>]) {
        defer { body = nil }
        return (body, waiters.take { $0 == .listener })
    }
}

// The readers.
extension AsyncCalls {
    /// Starts a reader, which has already been counted.
    func startReader(of mailbox: SequenceMailbox, _ listener: ListenerEntry) {
        Task.detached { await self.read(mailbox, listener) }
    }

    /// Calls the listener with what waits, for one turn.
    private func read(_ mailbox: SequenceMailbox, _ listener: ListenerEntry) async {
        // Reused for one call after another.
        let place = mailbox.layout.allocate()
        defer { place.deallocate() }
        var turn = DrainTurn()
        while true {
            let isolation =
                switch body?.isolation {
                case .closure(let actor): actor
                // If the owner was deallocated, `takeAndCall` finds that out.
                case .owner: listener.owner as? any Actor
                case nil: nil as (any Actor)?
                }
            guard await callNext(mailbox, listener, place, on: isolation) else { return }
            // The next turn is a new task, so that whatever else waits for the thread comes first.
            if turn.endAfterCall() != nil { return startReader(of: mailbox, listener) }
        }
    }

    /// Makes the next call. Returns false if nothing waits, and the reader ends.
    @inline(never)
    private func callNext(
        _ mailbox: SequenceMailbox,
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        on isolation: isolated (any Actor)?
    ) async -> Bool {
        var envelope: Envelope?
        // Returns after the message and the owner have been released, as a task that waits for the call may expect.
        guard let outcome = await takeAndCall(mailbox, listener, message, &envelope, on: isolation) else {
            return false
        }
        // Before the poster is told: its next message must not be ignored.
        let (isReplaced, goesOn) = mailbox.endCall(self, of: listener)
        // A call that never began remains counted as discarded.
        let isDropped = if case .discarded = outcome { false } else { isReplaced }
        envelope?.tracker?.finish(isDropped ? .dropped : outcome)
        return goesOn
    }

    /// Takes a message and awaits the closure, without suspending in between. So a `cancel` in the closure's isolation
    /// comes either before the message is taken or after the call has begun. Returns nil if nothing waits.
    private func takeAndCall(
        _ mailbox: SequenceMailbox,
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ envelope: inout Envelope?,
        on isolation: isolated (any Actor)?
    ) async -> PostTracker.Outcome? {
        let owner = listener.owner.map { sendable($0) }
        // Also discards what waits.
        if owner == nil, listener.hasOwner { listener.list?.cancel(listener) }
        guard mailbox.takeForCall(self, into: message, &envelope, of: listener) else { return nil }
        defer { mailbox.layout.destroy(message) }
        let call = AsyncCall(listener: listener, mailbox: mailbox, owner: owner, envelope: envelope)
        guard overlapping.kind == .replace else { return await run(call, with: message, isolation: isolation) }
        let task = Task {
            // Captured, so that the task has this isolation, in which no call may begin after `cancel` has returned.
            _ = isolation
            guard !listener.isCancelled else { return PostTracker.Outcome.discarded }
            return await run(call, with: message, isolation: isolation)
        }
        if mailbox.withLock({ began(task) }) { task.cancel() }
        return await task.value
    }
}

/// One call of an async listener.
private struct AsyncCall: Sendable {
    let listener: ListenerEntry
    let mailbox: SequenceMailbox
    let owner: (any AnyObject & Sendable)?
    let envelope: Envelope?
}

extension AsyncCalls {
    private func run(
        _ call: AsyncCall,
        with message: MessageAddress,
        isolation: isolated (any Actor)?
    ) async -> PostTracker.Outcome {
        call.mailbox.countCall()
        // One chain for each call: tasks made by the closure inherit it and may outlive the call.
        let chain = ListenerChain(call.listener, upstream: call.envelope?.tracker?.chain)
        let outcome = await ListenerChain.$current.withValue(chain) {
            // Captured, so that the closure has this isolation and does not leave the turn.
            _ = isolation
            guard let trace = call.envelope?.trace else { return await self.outcome(of: call, with: message) }
            var outcome = PostTracker.Outcome.discarded
            await trace.deliver(to: call.listener, isolation: isolation) {
                outcome = await self.outcome(of: call, with: message)
            }
            return outcome
        }
        chain.endCall()
        return outcome
    }

    private func outcome(of call: AsyncCall, with message: MessageAddress) async -> PostTracker.Outcome {
        let listener = call.listener
        // Loaded here, for the call only, so that it can be freed before tasks that wait for the call resume.
        guard let list = listener.list, let closure = body?.closure else { return .discarded }
        do {
            try await closure(message, call.owner, list.envelope(of: call.envelope))
            return .completed
        } catch {
            // A call that was replaced may throw because it was cancelled.
            guard !call.mailbox.withLock({ isReplaced }) else { return .dropped }
            let reported = error as? ReportedFailure
            if reported == nil {
                list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
            } else {
                list.activeInstrument?.didThrow(listener)
            }
            return .failed(DeliveryFailure(reported?.error ?? error, listener, call.owner))
        }
    }
}
