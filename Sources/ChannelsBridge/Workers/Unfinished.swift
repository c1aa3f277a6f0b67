internal import Channels

/// How many messages of a route are with their listeners, which nobody waits for before the bridge ends.
///
/// Guarded by its lock.
final class Unfinished: Sendable {
    /// Whoever holds the message holds it.
    final class Part: Sendable {
        /// What it takes up in the bridge.
        private let charge: Charge?
        /// Once it is counted.
        fileprivate let all = Locked<Unfinished?>(nil)

        init(_ charge: Charge?) { self.charge = charge }

        deinit { all.withLock { $0 }?.ended() }
    }

    private struct State {
        var count = 0
        var isAbandoned = false
        /// For the end.
        var latch: Latch?
    }

    private let state = Locked(State())

    /// Counts a message that its listeners have been given, and may have finished with. It is counted as received after
    /// that.
    func begin(_ part: Part) {
        state.withLock { $0.count += 1 }
        part.all.withLock { $0 = self }
    }

    private func ended() {
        let latch = state.withLock { state -> Latch? in
            state.count -= 1
            return state.count == 0 ? state.latch : nil
        }
        latch?.open()
    }

    /// Returns when there are none, or none are waited for any more. To be called when none begin any more.
    func end() async {
        let latch = state.withLock { state -> Latch? in
            guard state.count > 0, !state.isAbandoned else { return nil }
            let latch = state.latch ?? Latch()
            state.latch = latch
            return latch
        }
        try? await latch?.wait()
    }

    /// Waits for none any more.
    ///
    /// - Returns: How many there are.
    func abandon() -> Int {
        let (latch, count) = state.withLock { state in
            state.isAbandoned = true
            return (state.latch, state.count)
        }
        latch?.open()
        return count
    }
}
