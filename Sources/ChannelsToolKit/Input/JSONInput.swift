#if Tool
import ChannelsBridge
import Foundation

/// A message from the command line: JSON, `@` and a file, or `-` for standard input.
struct JSONInput {
    /// More than a NATS server accepts. The limit keeps an endless input from filling the memory.
    private static let limit = 64 << 20

    let bytes: [UInt8]

    /// - Parameter argument: The argument; if nil, standard input is read, unless it is a terminal.
    init(_ argument: String?) throws {
        guard let argument else {
            guard isatty(STDIN_FILENO) == 0 else {
                throw Failure("the message is missing: pass JSON, @file, or - for standard input")
            }
            try self.init(descriptor: STDIN_FILENO, "standard input")
            return
        }
        if argument == "-" {
            try self.init(descriptor: STDIN_FILENO, "standard input")
        } else if argument.hasPrefix("@") {
            let file = String(argument.dropFirst())
            let descriptor = open(file, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Failure("\(file): \(String(cString: strerror(errno)))") }
            defer { close(descriptor) }
            try self.init(descriptor: descriptor, file)
        } else {
            try self.init(Array(argument.utf8), nil)
        }
    }

    private init(descriptor: Int32, _ name: String) throws {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure("\(name): \(String(cString: strerror(errno)))") }
            if count == 0 { break }
            bytes += part[..<count]
            guard bytes.count <= Self.limit else {
                throw Failure("\(name) has more than \(Self.limit) bytes, which is longer than a message can be")
            }
        }
        // Removes the line break of the last line.
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        try self.init(bytes, name)
    }

    private init(_ bytes: [UInt8], _ name: String?) throws {
        let text = String(decoding: bytes.prefix(60), as: UTF8.self)
        guard !bytes.isEmpty else { throw Failure("\(name ?? "the message") is empty, and not JSON") }
        guard JSONText(bytes) != nil else { throw Failure("\(name.map { "\($0) is " } ?? "")not JSON: \(text)") }
        self.bytes = bytes
    }
}
#endif
