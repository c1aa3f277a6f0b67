#if Tool
import Channels
import ChannelsBridge
import Dispatch
import Foundation

/// When a command ends that would go on: after a number of messages, by a signal, or with the reader of its output.
///
/// Guarded by `state`.
final class Ending: Sendable {
    private struct State {
        /// How many messages are still to be taken; nil: no limit.
        var left: Int?
        /// The signal, or nil for enough messages, once it has ended.
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

    /// Prints lines on standard output. Returns false if it is closed: then the command ends, after it has
    /// told the server what was printed.
    func shows(_ lines: String) -> Bool {
        let hasReader = StandardStreams.showsToReader(lines)
        if !hasReader { end(SIGPIPE) }
        return hasReader
    }

    /// Whether one more message is to be taken.
    func takesOne() -> Bool {
        state.withLock { state in
            guard state.end == nil, state.left != 0 else { return false }
            state.left = state.left.map { $0 - 1 }
            return true
        }
    }

    /// A message that was taken is done. Ends if it was the last.
    func endIfEnough() {
        if state.withLock({ $0.left == 0 }) { end(nil) }
    }

    /// Ends, if nothing else has.
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
        // An unreachable server cannot be told anything.
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
