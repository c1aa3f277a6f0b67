#if Tool
import Channels

/// Remembers which stored messages have been printed. A server that was killed may have lost their
/// acknowledgements, and then delivers them again.
///
/// The last 65,536 are remembered, and up to as many before them. All state is guarded by a lock.
final class PrintedIdentities: Sendable {
    private static let most = 65_536

    private let state = Locked((current: Set<ExactText>(), before: Set<ExactText>()))

    func contains(_ identity: String) -> Bool {
        let identity = ExactText(identity)
        return state.withLock { $0.current.contains(identity) || $0.before.contains(identity) }
    }

    func insert(_ identity: String) {
        state.withLock { state in
            state.current.insert(ExactText(identity))
            if state.current.count >= Self.most { state = ([], state.current) }
        }
    }
}
#endif
