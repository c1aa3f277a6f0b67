internal import Synchronization

/// What became of a message posted with ``Channel/postAndWait(_:from:echo:isolation:)``.
///
/// `reached` = `completed` + `failures` + `dropped` + `discarded`, unless the waiting task was cancelled: then the report says what had
/// finished by then.
public struct DeliveryReport: Sendable {
    /// How many listeners the message was handed to.
    public internal(set) var reached = 0
    /// How many of them finished. A sequence has finished once the message is in its buffer.
    public internal(set) var completed = 0
    /// Those that threw.
    public internal(set) var failures: [DeliveryFailure] = []
    /// How many did not get it because their buffer was full.
    public internal(set) var dropped = 0
    /// How many did not get it because they were cancelled, or their owner went, while it waited.
    public internal(set) var discarded = 0

    /// Creates a report, for tests of what reads it.
    public init(reached: Int = 0, completed: Int = 0, failures: [DeliveryFailure] = [], dropped: Int = 0, discarded: Int = 0) {
        self.reached = reached
        self.completed = completed
        self.failures = failures
        self.dropped = dropped
        self.discarded = discarded
    }

    /// Whether every listener reached finished without an error: false where one failed, missed the message, or had not finished when the
    /// waiting task was cancelled.
    public var isComplete: Bool { completed == reached }
}

extension DeliveryReport: CustomStringConvertible {
    /// One line: `3 reached: 1 completed, 1 failed, 1 dropped`.
    public var description: String {
        var parts = ["\(completed) completed"]
        for (count, what) in [(failures.count, "failed"), (dropped, "dropped"), (discarded, "discarded")] where count > 0 {
            parts.append("\(count) \(what)")
        }
        let unfinished = reached - completed - failures.count - dropped - discarded
        if unfinished > 0 { parts.append("\(unfinished) unfinished") }
        return "\(reached) reached: \(parts.joined(separator: ", "))"
    }
}

/// A listener that threw, and what.
public struct DeliveryFailure: Sendable, CustomStringConvertible {
    /// What it threw.
    public let error: any Error
    /// The type of its owner; nil where the token owns the listener.
    public let ownerType: String?
    /// Where it was registered.
    public let registrationSite: RegistrationSite

    /// Creates a failure, for tests of what reads it.
    public init(error: any Error, ownerType: String? = nil, registrationSite: RegistrationSite) {
        self.error = error
        self.ownerType = ownerType
        self.registrationSite = registrationSite
    }

    init(_ error: any Error, _ listener: ListenerEntry, _ owner: AnyObject?) {
        self.error = error
        ownerType = owner.map { String(describing: type(of: $0)) }
        registrationSite = listener.site.site
    }

    /// One line that names all three.
    public var description: String {
        "\(ownerType ?? "token") registered at \(registrationSite): \(error)"
    }
}

/// Counts the listeners that a post waits for.
///
/// Everything is guarded by the mutex; the continuation is resumed without it.
final class PostTracker: Sendable {
    enum Outcome {
        case completed, dropped, discarded
        case failed(DeliveryFailure)
        /// A post that waited for its turn has gone round: not a listener.
        case settled
    }

    private struct State {
        var report = DeliveryReport()
        /// Calls that have not finished, and 1 for the post itself.
        var outstanding = 1
        var isCancelled = false
        var continuation: CheckedContinuation<DeliveryReport, Never>?
    }

    /// The calls that wait, directly or not, for this post: it waits for none of their listeners while they do.
    let chain: [ListenerChain]
    private let state = Locked(State())

    init(chain: [ListenerChain]) {
        self.chain = chain
    }

    /// One more listener, or queued post, is waited for.
    func expectOne(isListener: Bool = true) {
        state.withLock {
            $0.outstanding += 1
            if isListener { $0.report.reached += 1 }
        }
    }

    /// A listener that was expected refused the message.
    func expectOneLess() {
        settle { $0.report.reached -= 1 }
    }

    func finish(_ outcome: Outcome) {
        settle {
            switch outcome {
            case .completed: $0.report.completed += 1
            case .dropped: $0.report.dropped += 1
            case .discarded: $0.report.discarded += 1
            case .failed(let failure): $0.report.failures.append(failure)
            case .settled: break
            }
        }
    }

    /// Counts a listener that is not waited for.
    func count(_ outcome: Outcome) {
        expectOne()
        finish(outcome)
    }

    private func settle(_ change: (inout State) -> Void) {
        let resumed = state.withLock { state -> (CheckedContinuation<DeliveryReport, Never>, DeliveryReport)? in
            change(&state)
            state.outstanding -= 1
            guard state.outstanding == 0, let continuation = state.continuation else { return nil }
            state.continuation = nil
            return (continuation, state.report)
        }
        if let (continuation, report) = resumed { continuation.resume(returning: report) }
    }

    /// Suspends until every listener has finished or the task is cancelled. The post itself has gone round.
    func wait() async -> DeliveryReport {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let report = state.withLock { state -> DeliveryReport? in
                    state.outstanding -= 1
                    guard state.outstanding > 0, !state.isCancelled else { return state.report }
                    state.continuation = continuation
                    return nil
                }
                if let report { continuation.resume(returning: report) }
            }
        } onCancel: {
            let resumed = state.withLock { state -> (CheckedContinuation<DeliveryReport, Never>, DeliveryReport)? in
                state.isCancelled = true
                defer { state.continuation = nil }
                return state.continuation.map { ($0, state.report) }
            }
            if let (continuation, report) = resumed { continuation.resume(returning: report) }
        }
    }
}

extension PostFrame {
    /// How the call just made went.
    func outcome(for listener: ListenerEntry) -> PostTracker.Outcome {
        guard let thrown else { return .completed }
        return .failed(DeliveryFailure(thrown, listener, listener.owner))
    }
}

extension PostInfo {
    init(_ envelope: Envelope?, _ list: ListenerList) {
        self.init(sender: envelope?.sender, channelName: list.name, origin: envelope?.origin ?? .local)
    }

    /// What a listener called directly, or out of its mailbox, is told.
    @usableFromInline
    init(_ frame: PostFrame.Pointer) {
        // The caller of the post holds the list and the sender; `from:` takes Sendable objects only.
        let sender = frame.pointee.sender.map { unsafeBitCast($0.takeUnretainedValue(), to: (any AnyObject & Sendable).self) }
        self.init(
            sender: sender ?? frame.pointee.envelope?.sender,
            // Whoever posts holds the list.
            channelName: frame.pointee.list.takeUnretainedValue().name,
            origin: frame.pointee.envelope?.origin ?? .local
        )
    }
}
