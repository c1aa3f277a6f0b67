#if NATS
import Channels
import Foundation

/// Accepts connections on a free port of 127.0.0.1, greets, answers every ping properly and then says something
/// else. To a subscription to one subject, and to what follows it, it says nothing. A test may keep it from reading on at
/// a subscription, and says how it answers what is published.
final class HostileServer: Sendable {
    static let soundGreeting =
        "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n"

    let url: String
    private let listener: Int32
    private let sockets = Locked<(open: Set<Int32>, isClosed: Bool)>(([], false))
    /// How many connections are refused.
    private let refusals: Locked<Int>
    private let onSubscription: @Sendable (_ subject: String) -> Void
    private let answers: @Sendable (_ subject: String, _ number: Int) -> Answer?

    /// What is sent to the subject of replies of a message.
    struct Answer: Sendable {
        /// By default, that of the message.
        var subject: String?
        var reply = ""
        var body: String
    }

    /// - Parameters:
    ///   - answers: The answer to a message, of which so many came before on the same subject.
    ///   - onSubscription: Called with its subject before anything that follows it is read.
    init(
        greeting: String,
        afterPing garbage: String = "",
        deafTo subject: String? = nil,
        refusing refusals: Int = 0,
        answers: @escaping @Sendable (_ subject: String, _ number: Int) -> Answer? = { _, _ in nil },
        onSubscription: @escaping @Sendable (_ subject: String) -> Void = { _ in }
    ) throws {
        self.onSubscription = onSubscription
        self.answers = answers
        self.refusals = Locked(refusals)
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
        // The numbers of the subscriptions, by what their subjects begin with.
        var subscriptions: [String: Substring] = [:]
        var counts: [String: Int] = [:]
        while true {
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
            while let end = text.range(of: "\r\n") {
                let line = text[..<end.lowerBound]
                text = String(text[end.upperBound...])
                if let subject, line.hasPrefix("SUB \(subject) ") { return drain(socket) }
                if line.hasPrefix("CONNECT "), refuses() {
                    return write("-ERR 'Authorization Violation'\r\n", to: socket)
                }
                if line == "PING" { write("PONG\r\n" + garbage, to: socket) }
                let words = line.split(separator: " ")
                if words.first == "SUB", let number = words.last {
                    onSubscription(String(words[1]))
                    subscriptions[String(words[1].prefix { $0 != "*" })] = number
                } else if words.count == 4, words[0] == "PUB" {
                    let (subject, reply) = (String(words[1]), String(words[2]))
                    defer { counts[subject, default: 0] += 1 }
                    guard let answer = answers(subject, counts[subject, default: 0]),
                        let number = subscriptions.first(where: { reply.hasPrefix($0.key) })?.value
                    else { continue }
                    let (to, size) = (answer.subject ?? reply, answer.body.utf8.count)
                    write("MSG \(to) \(number) \(answer.reply) \(size)\r\n\(answer.body)\r\n", to: socket)
                }
            }
        }
    }

    private func refuses() -> Bool {
        refusals.withLock { left in
            defer { left = max(left - 1, 0) }
            return left > 0
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

    /// Ends all connections, and takes further ones.
    func breakConnections() { for socket in sockets.withLock({ $0.open }) { shutdown(socket, Int32(SHUT_RDWR)) } }

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
