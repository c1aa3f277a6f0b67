#if NATS
import Channels
import ChannelsTesting
import Foundation

/// What is between clients and a server: it passes bytes on, until it is cut, or loses what one of them sends.
final class LossyNetwork: Sendable {
    private struct State {
        /// The sockets of clients, and those to the server.
        var connections: [Int32: Int32] = [:]
        /// The sockets from which all bytes are lost.
        var lossy: Set<Int32> = []
        var isClosed = false
    }

    let url: String
    /// What was lost.
    let lost = Recorder<String>()
    /// Shared with the thread that accepts connections, which does not keep this object.
    private final class Ending: Sendable { let isOver = Locked(false) }
    private let ending = Ending()
    private let listener: Int32
    private let state = Locked(State())

    init(to server: NATSServer) throws {
        let (descriptor, port) = try boundSocket()
        listener = descriptor
        url = "nats://127.0.0.1:\(port)"
        guard listen(descriptor, 8) == 0 else { throw ChildProcess.Failure(description: "no listening on \(url)") }
        let serverPort = server.port
        Thread.detachNewThread { [descriptor, ending, weak self] in
            while !ending.isOver.withLock({ $0 }) {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { continue }
                let onward = try? connectedSocket(serverPort)
                guard let self, let onward, join(client, onward) else {
                    for socket in [client] + (onward.map { [$0] } ?? []) { close(socket) }
                    continue
                }
            }
            // Not before it has been shut down.
            ending.isOver.withLock { _ in _ = close(descriptor) }
        }
    }

    deinit {
        state.withLock { $0.isClosed = true }
        cut()
        ending.isOver.withLock { isOver in
            isOver = true
            shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    /// What the server sends on the connections that there are is lost from now on.
    func loseAnswers() {
        state.withLock { $0.lossy = Set($0.connections.values) }
    }

    /// What clients send on them is lost from now on.
    func loseQuestions() {
        state.withLock { $0.lossy = Set($0.connections.keys) }
    }

    /// Ends the connections that there are.
    func cut() {
        // Under the lock: they are not closed meanwhile.
        state.withLock { state in
            for socket in state.connections.flatMap({ [$0, $1] }) { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// - Returns: Whether this is open.
    private func join(_ client: Int32, _ onward: Int32) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.connections[client] = onward }
            return !state.isClosed
        }
        guard isOpen else { return false }
        // Until one of them ends, which ends the other.
        let ends = Locked(2)
        for (source, target) in [(client, onward), (onward, client)] {
            Thread.detachNewThread { [self] in
                pass(source, target) { state.withLock { $0.lossy.contains(source) } }
                guard
                    ends.withLock({
                        $0 -= 1; return $0 == 0
                    })
                else { return }
                state.withLock { state in
                    state.connections[client] = nil
                    state.lossy.subtract([client, onward])
                    for socket in [client, onward] { close(socket) }
                }
            }
        }
        return true
    }

    private func pass(_ source: Int32, _ target: Int32, isLost: () -> Bool) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            var rest = bytes[..<count]
            if isLost() {
                lost.record(String(decoding: rest, as: UTF8.self))
                rest = []
            }
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                rest = sent > 0 ? rest.dropFirst(sent) : []
            }
        }
        for socket in [source, target] { shutdown(socket, Int32(SHUT_RDWR)) }
    }
}
#endif
