#if NATS
import Foundation

/// The address of a server on the command line.
struct ServerAddress {
    /// The address, including the scheme, and the user and password if it contains them.
    let text: String
    private let host: String
    private let port: String

    /// - Throws: A failure if the scheme does not belong to NATS or the port is not valid.
    init(_ text: String) throws {
        guard !text.isEmpty else { throw Failure("the address of the server is empty; use nats://host:port") }
        let scheme = text.range(of: "://")
        let name = scheme.map { text[..<$0.lowerBound].lowercased() } ?? "nats"
        guard name == "nats" || name == "tls" else {
            let known = name == "ws" || name == "wss" ? "WebSockets are not supported" : "this is not a scheme of NATS"
            throw Failure("'\(name)://': \(known); use nats://host:port or tls://host:port")
        }
        var rest = scheme.map { text[$0.upperBound...] } ?? text[...]
        self.text = "\(name)://\(rest)"
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        while rest.last == "/" { rest.removeLast() }
        let tail: Substring
        if rest.first == "[" {
            host = String(rest.dropFirst().prefix { $0 != "]" })
            tail = rest.dropFirst(host.count + 2)
        } else {
            host = String(rest.prefix { $0 != ":" })
            tail = rest.dropFirst(host.count)
        }
        port = tail.isEmpty ? "4222" : String(tail.dropFirst())
        guard !host.isEmpty, let number = UInt16(port), number > 0 else {
            throw Failure("'\(rest)' is not the address of a server; use nats://host:port or tls://host:port")
        }
    }

    /// Returns why no connection can be made, which the C client does not say; nil if one can be made.
    func problem() -> Failure? {
        var hints = addrinfo()
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, port, &hints, &found)
        guard status == 0, let first = found else {
            return Failure("unknown host '\(host)': \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(first) }
        var problem: Int32 = 0
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let address = next {
            problem = Self.connect(to: address.pointee)
            if problem == 0 { return nil }
            next = address.pointee.ai_next
        }
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        switch problem {
        case ECONNREFUSED: return Failure("connection refused by \(place): is a nats-server running there?")
        case ETIMEDOUT: return Failure("no answer from \(place) within two seconds")
        default: return Failure("no connection to \(place): \(String(cString: strerror(problem)))")
        }
    }

    /// - Returns: 0, or the error.
    private static func connect(to address: addrinfo) -> Int32 {
        let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        guard Foundation.connect(descriptor, address.ai_addr, address.ai_addrlen) != 0 else { return 0 }
        guard errno == EINPROGRESS else { return errno }
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let count = poll(&ready, 1, 2_000)
        guard count != 0 else { return ETIMEDOUT }
        var problem: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &length)
        return problem
    }
}
#endif
