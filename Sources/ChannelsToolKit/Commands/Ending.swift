#if Tool
import Channels
import ChannelsBridge
import Dispatch
import Foundation

/// Ends a command that would otherwise run on: after a number of messages, because of a signal, or when
/// nobody reads its output any more.
///
/// All mutable state is guarded by `state`.
final class Ending: Sendable {
    private struct State {
        /// How many more messages to take; nil for no limit.
        var left: Int?
        /// Nil until it has ended. Then the signal, or nil inside if there was none.
        var end: Int32??
        var waiter: CheckedContinuation<Int32?, Never>?
        var sources: [any DispatchSourceSignal] = []
    }

    private let state: Locked<State>

    init(after count: Int?) {
        state = Locked(State(left: count))
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [weak self] in self?.end(number) }
            source.activate()
            return source
        }
        state.withLock { $0.sources = sources }
        StandardStreams.whenOutputIsClosed { [weak self] in self?.end(SIGPIPE) }
    }

    /// Prints lines on standard output. Returns false if it is closed. The command then ends, after it has
    /// told the server what was printed.
    func shows(_ lines: String) -> Bool {
        let hasReader = StandardStreams.showsToReader(lines)
        if !hasReader { end(SIGPIPE) }
        return hasReader
    }

    /// Returns whether to take one more message.
    func takesOne() -> Bool {
        state.withLock { state in
            guard state.end == nil, state.left != 0 else { return false }
            state.left = state.left.map { $0 - 1 }
            return true
        }
    }

    /// Called when a message has been handled. Ends if it was the last one.
    func endIfEnough() {
        if state.withLock({ $0.left == 0 }) { end(nil) }
    }

    /// Ends the command, unless it has already ended.
    func end() { end(nil) }

    var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// Waits for the end, and closes the connection. A signal then ends the process.
    func closing(_ transport: some Transport) async throws {
        let signal = await withCheckedContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.waiter = continuation }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
        // After a signal, an error does not matter: an unreachable server cannot be told anything.
        do { try await transport.close(timeout: .seconds(5)) } catch { if signal == nil { throw error } }
        if let signal { StandardStreams.end(bySignal: signal) }
    }

    private func end(_ signal: Int32?) {
        let waiter = state.withLock { state in
            if state.end == nil { state.end = .some(signal) }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: signal)
    }
}
#endif
