#if NATS
import Channels

/// Resumes a continuation with whatever comes first. Guarded by `state`: all of it.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<Value, any Error>)
        case given(Result<Value, any Error>)
        case done
    }
    private let state = Locked(State.empty)

    func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        let early = state.withLock { state -> Result<Value, any Error>? in
            guard case .given(let result) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .done
            return result
        }
        if let early { continuation.resume(with: early) }
    }

    func give(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .empty:
                state = .given(result)
                return nil
            case .waiting(let continuation):
                state = .done
                return continuation
            case .given, .done: return nil
            }
        }
        continuation?.resume(with: result)
    }
}
#endif
