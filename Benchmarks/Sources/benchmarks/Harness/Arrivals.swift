import Synchronization

/// Lets one task wait until a number of others have arrived.
final class Arrivals: Sendable {
    private struct State {
        var arrived = 0
        var expected = 0
        var waiter: CheckedContinuation<Void, Never>?

        /// The waiter, if it need wait no longer.
        mutating func ready() -> CheckedContinuation<Void, Never>? {
            guard let waiter, arrived >= expected else { return nil }
            arrived -= expected
            self.waiter = nil
            return waiter
        }
    }

    private let state = Mutex(State())

    func arrive() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.arrived += 1
            return state.ready()
        }
        waiter?.resume()
    }

    /// Returns once a number have arrived since the last wait.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.expected = count
                state.waiter = continuation
                return state.ready()
            }
            waiter?.resume()
        }
    }
}

/// Checks that messages come in order, and says when the last one of a round has come. Used by one listener.
final class OrderCheck: @unchecked Sendable {
    private var next = 0
    private let arrivals: Arrivals

    init(_ arrivals: Arrivals) {
        self.arrivals = arrivals
    }

    /// Takes a message: the next number, or `lastMessage`.
    @inline(never)
    func take(_ number: Int) {
        if number == lastMessage {
            next = 0
            arrivals.arrive()
            return
        }
        precondition(number == next, "message \(number) came where \(next) was due")
        next = number + 1
    }
}
