#if NATS
import ChannelsBridge
import Foundation

/// Messages in one contiguous buffer, in the form that the C client needs.
///
/// Waiting messages pass from the publishing threads to the writing one. As bytes, they need no allocation
/// per message, and the threads do not count references to the same subject and payload in turn, which costs
/// more than copying a few hundred bytes.
struct PackedMessages {
    /// Precedes each message. The texts follow, each terminated by a zero: the subject, the reply if there is
    /// one, name and value of each header; then the payload. Joined headers are two texts: the value of the last,
    /// and before it everything else, as it is sent.
    fileprivate struct Head {
        var subject: Int
        /// -1 if there is none.
        var reply: Int
        var headerCount: Int
        var areJoined: Bool
        /// The bytes of the headers, with their zeros.
        var headers: Int
        var payload: Int
        var isBound: Bool
    }

    private var bytes: [UInt8] = []
    private(set) var count = 0
    /// How many of them must not be sent on a later connection.
    private var boundCount = 0
    /// A buffer that has grown beyond this is released when it is empty.
    private static let keptCapacity = 1 << 18

    var byteCount: Int { bytes.count }
    var isEmpty: Bool { count == 0 }

    /// The number of bytes that ``append(_:)`` needs for a message.
    static func size(of message: NATSMessage, joinsHeaders: Bool = View.mayJoinHeaders) -> Int {
        let head = Head(message, joinsHeaders)
        return head.sizeBeforePayload + head.payload
    }

    /// Copies a message whose texts have no zero in them; see ``NATSMessage/check()``.
    mutating func append(_ message: NATSMessage, joinsHeaders: Bool = View.mayJoinHeaders) {
        let head = Head(message, joinsHeaders)
        // Written at once: there are many short texts.
        withUnsafeTemporaryAllocation(byteCount: head.sizeBeforePayload, alignment: 1) { memory in
            memory.storeBytes(of: head, as: Head.self)
            var texts = TextWriter(UnsafeMutableRawBufferPointer(rebasing: memory[MemoryLayout<Head>.size...]))
            texts.add(message.subject, then: "\0")
            if let reply = message.reply { texts.add(reply, then: "\0") }
            let last = head.headerCount - 1
            for (index, header) in message.headers.enumerated() {
                let isApart = !joinsHeaders || index == last
                texts.add(header.name, then: isApart ? "\0" : ": ")
                texts.add(header.value, then: isApart ? "\0" : "\r\n")
            }
            if let identifier = message.identifier {
                texts.add(NATSMessage.identifierHeader, then: "\0")
                texts.add(identifier, then: "\0")
            }
            bytes.append(contentsOf: UnsafeRawBufferPointer(memory))
        }
        message.payload.withUnsafeBytes { bytes.append(contentsOf: $0) }
        count += 1
        if message.isBoundToConnection { boundCount += 1 }
    }

    mutating func append(contentsOf other: PackedMessages) {
        bytes.append(contentsOf: other.bytes)
        count += other.count
        boundCount += other.boundCount
    }

    /// Removes the messages that must not be sent on a later connection. The others keep their order.
    mutating func removeBound() {
        guard boundCount > 0 else { return }
        var kept: [UInt8] = []
        var (taken, keptCount) = (0, 0)
        bytes.withUnsafeBytes { bytes in
            while taken < bytes.count {
                let address = bytes.baseAddress! + taken
                let (_, size) = Self.view(address)
                if !address.loadUnaligned(as: Head.self).isBound {
                    kept.append(contentsOf: bytes[taken..<(taken + size)])
                    keptCount += 1
                }
                taken += size
            }
        }
        (bytes, count, boundCount) = (kept, keptCount, 0)
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        (count, boundCount) = (0, 0)
    }

    /// Removes the messages in order, up to the first for which the body returns false. That one and those
    /// behind it stay.
    ///
    /// - Returns: Whether all were removed.
    mutating func takeOut(while isTaken: (View) -> Bool) -> Bool {
        var taken = (count: 0, bytes: 0, bound: 0)
        bytes.withUnsafeBytes { bytes in
            while taken.count < count {
                let address = bytes.baseAddress! + taken.bytes
                let (message, size) = Self.view(address)
                guard isTaken(message) else { break }
                let isBound = address.loadUnaligned(as: Head.self).isBound
                taken = (taken.count + 1, taken.bytes + size, taken.bound + (isBound ? 1 : 0))
            }
        }
        if taken.count == count {
            removeAll()
            return true
        }
        bytes.removeFirst(taken.bytes)
        count -= taken.count
        boundCount -= taken.bound
        return false
    }

    /// - Parameter address: Where ``append(_:)`` has put a message, with its head first.
    private static func view(_ address: UnsafeRawPointer) -> (View, size: Int) {
        let head = address.loadUnaligned(as: Head.self)
        let subject = address + MemoryLayout<Head>.size
        let reply = subject + head.subject + 1
        let headers = reply + head.reply + 1
        let payload = headers + head.headers
        let view = View(
            subject: subject.assumingMemoryBound(to: CChar.self),
            reply: head.reply < 0 ? nil : reply.assumingMemoryBound(to: CChar.self),
            headerCount: head.headerCount,
            areJoined: head.areJoined,
            headers: headers.assumingMemoryBound(to: CChar.self),
            payload: UnsafeRawBufferPointer(start: payload, count: head.payload)
        )
        return (view, payload + head.payload - address)
    }
}

extension PackedMessages {
    /// A message in the buffer, valid only during the call that receives it.
    struct View {
        let subject: UnsafePointer<CChar>
        let reply: UnsafePointer<CChar>?
        let headerCount: Int
        /// Whether the headers are two texts: `a: 1\r\nb: 2\r\nc`, and the value of the last.
        let areJoined: Bool
        fileprivate let headers: UnsafePointer<CChar>
        let payload: UnsafeRawBufferPointer

        /// Calls a body for each header; for those that are joined, once.
        func forEachHeader(_ body: (_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>) -> Void) {
            var text = headers
            for _ in 0..<(areJoined ? min(headerCount, 1) : headerCount) {
                // With its zero, each is a C string.
                let value = text + strlen(text) + 1
                body(text, value)
                text = value + strlen(value) + 1
            }
        }
    }
}

extension PackedMessages.Head {
    fileprivate init(_ message: NATSMessage, _ joinsHeaders: Bool) {
        subject = message.subject.utf8.count
        reply = message.reply?.utf8.count ?? -1
        headerCount = message.headers.count + (message.identifier == nil ? 0 : 1)
        areJoined = joinsHeaders
        // Two zeros, or ": " and a line break; behind the last, two zeros.
        let separators = joinsHeaders ? 4 : 2
        var bytes = message.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + separators }
        if let identifier = message.identifier {
            bytes += NATSMessage.identifierHeader.utf8.count + identifier.utf8.count + separators
        }
        headers = headerCount == 0 ? 0 : bytes - separators + 2
        payload = message.payload.count
        isBound = message.isBoundToConnection
    }

    fileprivate var sizeBeforePayload: Int { MemoryLayout<Self>.size + subject + 1 + reply + 1 + headers }
}

/// Copies texts one behind the other into memory, which has room for all of them.
private struct TextWriter {
    private var rest: UnsafeMutableRawBufferPointer

    init(_ memory: UnsafeMutableRawBufferPointer) {
        rest = memory
    }

    mutating func add(_ text: String, then separator: StaticString) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
        separator.withUTF8Buffer { add(UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        // Traps where there is no room.
        rest.copyMemory(from: bytes)
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[bytes.count...])
    }
}
#endif
