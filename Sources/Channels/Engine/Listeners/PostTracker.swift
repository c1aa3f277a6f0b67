internal import Synchronization

/// Counts the listeners that a post waits for. A mutex guards all its state; continuations are resumed without it.
final class PostTracker: Sendable {
    enum Outcome {
        case completed, dropped, discarded
        /// The message is in the buffer of a sequence.
        case buffered
        case failed(DeliveryFailure)
        /// A queued post has ended, or a listener is not waited for.
        case settled
    }

    private struct State {
        var report = DeliveryReport()
        /// Unfinished calls, plus 1 for the post itself.
        var outstanding = 1
        /// Whether the wait has ended early, because its task was cancelled or its time was up.
        var isAbandoned = false
        /// The listeners whose call has thrown but not ended yet.
        var failing: [UInt] = []
        var waiters = Waiters<Void>()
    }

    /// The calls that wait for this post, directly or indirectly. The post must not wait for their listeners.
    let chain: ListenerChain?
    /// Called when all listeners have finished, if no task waits.
    private let onEnd: (@Sendable () -> Void)?
    private let state = Locked(State())

    init(chain: ListenerChain?, onEnd: (@Sendable () -> Void)? = nil) {
        self.chain = chain
        self.onEnd = onEnd
    }

    /// Returns whether to wait for a listener: not if a call of it waits for the poster, directly or indirectly.
    func waits(for listener: ListenerEntry) -> Bool { chain?.waits(for: listener) != true }

    /// Adds a listener, or a queued post, to wait for.
    func expectOne(isListener: Bool = true) {
        state.withLock {
            $0.outstanding += 1
            if isListener { $0.report.reachedCount += 1 }
        }
    }

    /// Removes an expected listener that refused the message.
    func withdrawExpected() { settle { $0.report.reachedCount -= 1 } }

    /// Records that an expected listener has finished.
    func finish(_ outcome: Outcome) {
        settle {
            switch outcome {
            case .completed: $0.report.completedCount += 1
            case .buffered:
                $0.report.completedCount += 1
                $0.report.bufferedCount += 1
            case .dropped: $0.report.droppedCount += 1
            case .discarded: $0.report.discardedCount += 1
            case .failed(let failure): $0.report.failures.append(failure)
            case .settled: break
            }
        }
    }

    /// Records what a call of an expected listener has thrown. The call then ends with ``finishCall(of:)``.
    func fail(_ listener: ListenerEntry, _ error: any Error) {
        let failure = DeliveryFailure(error, listener, listener.owner)
        state.withLock {
            $0.failing.append(listener.address)
            $0.report.failures.append(failure)
        }
    }

    /// Records that a call of an expected listener has ended.
    func finishCall(of listener: ListenerEntry) {
        settle { state in
            if let index = state.failing.firstIndex(of: listener.address) {
                state.failing.remove(at: index)
            } else {
                state.report.completedCount += 1
            }
        }
    }

    /// Counts a listener that is not waited for.
    func count(_ outcome: Outcome) {
        expectOne()
        finish(outcome)
    }

    private func settle(_ change: (inout State) -> Void) {
        let resumed = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
            change(&state)
            state.outstanding -= 1
            return state.outstanding == 0 ? state.waiters.take { _ in true } : nil
        }
        guard let resumed else { return }
        resumed.resume()
        onEnd?()
    }

    /// Ends the post itself, if no task waits for its listeners.
    func end() { settle { _ in } }

    /// Ends the post itself and suspends until every listener has finished, the time is up or the task is cancelled.
    func wait(timeout: Duration? = nil) async -> DeliveryReport {
        let timer = timeout.map { Timeout(after: $0) { self.abandon() } }
        defer { extendLifetime(timer) }
        await withTaskCancellationHandler {
            await Waiters<Void>.suspend { continuation in
                state.withLock { state in
                    state.outstanding -= 1
                    guard state.outstanding > 0, !state.isAbandoned else { return false }
                    state.waiters.add(continuation, until: ())
                    return true
                }
            }
        } onCancel: {
            abandon()
        }
        return state.withLock { $0.report }
    }

    /// Ends the wait although listeners have not finished.
    private func abandon() {
        let resumed = state.withLock { state in
            state.isAbandoned = true
            return state.waiters.take { _ in true }
        }
        resumed.resume()
    }
}

extension DeliveryFailure {
    init(_ error: any Error, _ listener: ListenerEntry, _ owner: AnyObject?) {
        self.init(
            error: error,
            ownerType: owner.map { String(describing: type(of: $0)) },
            registrationSite: listener.site.site
        )
    }
}
