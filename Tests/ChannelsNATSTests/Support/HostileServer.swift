#if NATS
import Channels
import Foundation

/// Accepts connections on a free port of 127.0.0.1, greets, answers every ping properly and then says something
/// else. To a subscription to one subject, and to what follows it, it says nothing.
final class HostileServer: Sendable {
    static let soundGreeting =
        "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n"

    let url: String
    private let listener: Int32
    private let sockets = Locked<(open: Set<Int32>, isClosed: Bool)>(([], false))

    init(greeting: String, afterPing garbage: String = "", deafTo subject: String? = nil) throws {
        let (descriptor, port) = try boundSocket()
        listener = descriptor
        url = "nats://127.0.0.1:\(port)"
        guard listen(descriptor, 8) == 0 else { throw ChildProcess.Failure(description: "no listening on \(url)") }
        Thread.detachNewThread { [self] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0, sockets.withLock({ $0.isClosed ? false : $0.open.insert(socket).inserted }) else {
                    return
                }
                Thread.detachNewThread { [self] in serve(socket, greeting, garbage, subject) }
            }
        }
    }

    private func serve(_ socket: Int32, _ greeting: String, _ garbage: String, _ subject: String?) {
        defer { if sockets.withLock({ $0.open.remove(socket) }) != nil { Foundation.close(socket) } }
        write(greeting, to: socket)
        var text = ""
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
            while let end = text.range(of: "\r\n") {
                let line = text[..<end.lowerBound]
                text = String(text[end.upperBound...])
                if let subject, line.hasPrefix("SUB \(subject) ") { return drain(socket) }
                if line == "PING" { write("PONG\r\n" + garbage, to: socket) }
            }
        }
    }

    /// Reads what comes until the connection ends.
    private func drain(_ socket: Int32) {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while recv(socket, &bytes, bytes.count, 0) > 0 {}
    }

    private func write(_ text: String, to socket: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Ends all connections, and takes no further ones.
    func close() {
        let open = sockets.withLock { sockets in
            sockets.isClosed = true
            return sockets.open
        }
        for socket in open + [listener] { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    deinit { Foundation.close(listener) }
}
#endif
