#if NATS
import Foundation

/// Sends what no client library would: bytes, to a server.
func sendRaw(_ text: String, to server: NATSServer) throws {
    try sendRaw(bytes: Array(text.utf8), to: server)
}

func sendRaw(bytes sent: [UInt8], to server: NATSServer) throws {
    let descriptor = try connectedSocket(server.port)
    defer { close(descriptor) }
    let bytes = Array("CONNECT {\"verbose\":false,\"headers\":true}\r\n".utf8) + sent + Array("PING\r\n".utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count else {
        throw ChildProcess.Failure(description: "the server does not read")
    }
    // The server answers in order: what was sent has been taken.
    var said = ""
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while !said.contains("PONG") {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { throw ChildProcess.Failure(description: "the server says: \(said.suffix(200))") }
        said += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}

/// A TCP socket connected to a port of 127.0.0.1.
func connectedSocket(_ port: Int) throws -> Int32 {
    let (descriptor, _) = try boundSocket()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafePointer(to: &address) { pointer in
        // sockaddr_in is laid out as a sockaddr: that is how the call is made.
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard status == 0 else {
        close(descriptor)
        throw ChildProcess.Failure(description: "no connection: \(String(cString: strerror(errno)))")
    }
    return descriptor
}

/// Publishes a message with headers as they are given, each with its line end.
func publishRaw(headers: String, _ payload: String, to subject: String, of server: NATSServer) throws {
    let head = "NATS/1.0\r\n\(headers)\r\n"
    try sendRaw(
        "HPUB \(subject) \(head.utf8.count) \(head.utf8.count + payload.utf8.count)\r\n\(head)\(payload)\r\n",
        to: server
    )
}
#endif
