/// The calls in progress of one responder. A lock guards them; continuations are resumed without it.
@usableFromInline
final class ResponderCalls: ListenerRoute, @unchecked Sendable {  // guards: see above
    private struct State {
        var count = 0
        var waiters = Waiters<Void>()
    }

    private let state = Locked(State())

    /// Counts a request handed to the responder. Called while the list is entered, so that a thread that
    /// cancels and then waits for the list's posts finds it counted.
    func begin() { state.withLock { $0.count += 1 } }

    func end() {
        let resumed = state.withLock { state in
            state.count -= 1
            let isIdle = state.count == 0
            return state.waiters.take { _ in isIdle }
        }
        resumed.resume()
    }

    override func waitForCalls(of listener: ListenerEntry, afterDelivery: Bool) async {
        await Waiters<Void>.suspend { continuation in
            state.withLock { state in
                if state.count > 0 { state.waiters.add(continuation, until: ()) }
                return state.count > 0
            }
        }
    }
}
