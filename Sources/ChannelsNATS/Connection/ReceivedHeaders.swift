#if NATS
import Channels
import ChannelsBridge
import CNATS
import Foundation

/// The headers of a received message, made valid for a `TransportMessage`. Other clients may send anything,
/// and an invalid header must not cost the message its body.
///
/// Control characters, and bytes that are not UTF-8, are percent-encoded. A header with an invalid name is
/// left out. All headers are left out if there are too many, or if the C client cannot read them.
struct ReceivedHeaders {
    private(set) var fields: [TransportHeaders.Field] = []
    /// What was left out, and why.
    private(set) var problem: String?

    /// How many headers a message may have. A header takes up several times its bytes here, and each is
    /// compared with all others, so without a limit a peer could keep a process busy with one message.
    static let most = 256

    /// Reads the headers of a message of the C client.
    init(of message: OpaquePointer) {
        var names: UnsafeMutablePointer<UnsafePointer<CChar>?>?
        var count: Int32 = 0
        let status = natsMsgHeader_Keys(message, &names, &count)
        defer { free(names) }
        guard status != NATS_NOT_FOUND else { return }
        guard status == NATS_OK else {
            problem = "its headers are left out: they cannot be read, maybe because the last one is empty"
            return
        }
        guard count <= Self.most else {
            leaveOutAll(count: Int(count))
            return
        }
        fields.reserveCapacity(Int(count))
        for index in 0..<Int(count) {
            var value: UnsafePointer<CChar>?
            // The name belongs to the message, which lives until this callback returns.
            guard let name = names?[index], natsMsgHeader_Get(message, name, &value) == NATS_OK else {
                problem = "a header that cannot be read is left out"
                continue
            }
            // The C client returns null for a header without a value.
            add(Self.bytes(name), value.map { Self.bytes($0) } ?? Self.bytes("").prefix(0))
        }
    }

    /// Reads the headers of a message as a stream stores it: `NATS/1.0`, and a line for each header.
    init(lines: Data) {
        let lines = lines.split(whereSeparator: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }).dropFirst()
        guard lines.count <= Self.most else {
            leaveOutAll(count: lines.count)
            return
        }
        for line in lines {
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            add(name, line[name.endIndex...].dropFirst())
        }
    }

    private mutating func leaveOutAll(count: Int) {
        problem = "its \(count) headers, more than \(Self.most), are left out"
    }

    private static func bytes(_ text: UnsafePointer<CChar>) -> Slice<UnsafeRawBufferPointer> {
        UnsafeRawBufferPointer(start: text, count: strlen(text))[...]
    }

    private mutating func add<Bytes: BidirectionalCollection<UInt8>>(_ name: Bytes, _ value: Bytes)
    where Bytes.SubSequence == Bytes {
        // If a header has no value, the C client takes the next line for its value.
        if let (name, value) = Self.swallowed(in: value) { return add(name, value) }
        guard Self.isName(name) else {
            let shown = onOneLine(String(decoding: name.prefix(100), as: UTF8.self))
            problem = "a header is left out: \(quoted(shown)) cannot be the name of one"
            return
        }
        fields.append(TransportHeaders.Field(name: String(decoding: name, as: UTF8.self), value: Self.text(of: value)))
    }

    private static func isName(_ name: some Collection<UInt8>) -> Bool {
        !name.isEmpty && name.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
    }

    /// The header in a value that is in fact the line of a header that a bridge reads; nil for any other
    /// value.
    private static func swallowed<Bytes: Collection<UInt8>>(in value: Bytes) -> (name: Bytes, value: Bytes)?
    where Bytes.SubSequence == Bytes {
        let known = ["ce-", "traceparent:", "tracestate:", "content-type:", "dead-letter-"]
        guard known.contains(where: { value.starts(with: $0.utf8) { $0 | 0x20 == $1 | 0x20 } }) else { return nil }
        let name = value.prefix { $0 != UInt8(ascii: ":") }
        guard name.endIndex != value.endIndex, isName(name) else { return nil }
        return (name, value[name.endIndex...].dropFirst())
    }

    /// The value as text, without the spaces around it.
    private static func text<Bytes: BidirectionalCollection<UInt8>>(of value: Bytes) -> String
    where Bytes.SubSequence == Bytes {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var value = value.drop(while: isSpace)
        while let last = value.last, isSpace(last) { value = value.dropLast() }
        let isControl: (UInt8) -> Bool = { $0 < 0x20 || $0 == 0x7F }
        let text = String(validating: value, as: UTF8.self)
        if let text, !value.contains(where: isControl) { return text }
        var escaped: [UInt8] = []
        for byte in value {
            if isControl(byte) || text == nil && byte >= 0x80 {
                escaped += Array(String(format: "%%%02X", byte).utf8)
            } else {
                escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}
#endif
