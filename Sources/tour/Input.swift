#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// Reads bytes from files, and writes lines to standard error, without Foundation.
enum Input {
    /// Why a file could not be read.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// How many bytes are read at most, so that the tour takes seconds and fits into memory.
    private static let limit = 4 << 20

    static func file(_ path: String) throws(Failure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        return try everything(descriptor)
    }

    static func standardInput() throws(Failure) -> [UInt8] {
        try everything(0)
    }

    private static func everything(_ descriptor: Int32) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk[..<count]
                guard bytes.count <= limit else { throw Failure(description: "it is larger than \(limit >> 20) MiB") }
            } else if errno != EINTR {
                throw failure()
            }
        }
    }

    /// Ends the program once everything printed has been written.
    static func finish(_ status: Int32) -> Never {
        guard fflush(nil) != 0 else { exit(status) }
        // If the reader has stopped reading, no message is needed.
        if errno != EPIPE { report("tour: cannot write: \(failure())") }
        exit(1)
    }

    private static func failure() -> Failure {
        Failure(description: String(cString: strerror(errno)))
    }

    /// Writes lines to standard error, after everything printed so far.
    static func report(_ lines: String...) {
        fflush(nil)
        var text = Array(lines.map { $0.printable + "\n" }.joined().utf8)[...]
        while !text.isEmpty {
            let count = text.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            text = text.dropFirst(count)
        }
    }
}
