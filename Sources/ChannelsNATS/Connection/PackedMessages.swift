#if NATS
import ChannelsBridge
import Foundation

/// Messages in one contiguous buffer, in the form that the C client needs.
///
/// Messages pass from the publishing threads to the writing one. As bytes, they need no allocation each, and
/// the threads do not contend for the reference counts of subjects and payloads, which costs more than
/// copying a few hundred bytes.
struct PackedMessages: ~Copyable {
    /// Precedes each message. After it come the texts, each terminated by a zero byte (the subject, the reply
    /// subject if there is one, and the name and value of each header), and then the payload.
    fileprivate struct Head {
        var subject: Int
        /// -1 if there is none.
        var reply: Int
        var headerCount: Int
        /// The bytes of the headers, including their zero bytes.
        var headers: Int
        var payload: Int
        var isBound: Bool
    }

    private var queue = ByteQueue()
    private(set) var count = 0
    /// How many messages must not be sent on a later connection.
    private var boundCount = 0
    /// A buffer that has grown beyond this is released once it is empty and nothing follows soon.
    private static let keptCapacity = 1 << 18

    var byteCount: Int { queue.count }
    var isEmpty: Bool { count == 0 }

    /// The number of bytes that ``append(_:ifSizeIsAtMost:)`` needs for a message.
    static func size(of message: borrowing some OutgoingMessage) -> Int { Head(message).size }

    /// Copies a message if it needs no more than a number of bytes. ``WireRules`` and
    /// `TransportHeaders.check` ensure that its texts contain no zero byte.
    ///
    /// - Returns: Whether it has been copied.
    @discardableResult
    mutating func append(_ message: borrowing some OutgoingMessage, ifSizeIsAtMost limit: Int = .max) -> Bool {
        let head = Head(message)
        let size = head.size
        guard size <= limit else { return false }
        let memory = queue.append(size)
        memory.storeBytes(of: head, as: Head.self)
        // These fill every byte after the head.
        var texts = TextWriter(
            UnsafeMutableRawBufferPointer(start: memory, count: size).dropFirst(MemoryLayout<Head>.size)
        )
        texts.add(message.subject)
        if let reply = message.reply { texts.add(reply) }
        for header in message.fields { texts.add(header.name, header.value) }
        if let identifier = message.identifier { texts.add(NATSMessage.identifierHeader, identifier) }
        texts.add(message.payload)
        count += 1
        if message.isBoundToConnection { boundCount += 1 }
        return true
    }

    mutating func append(contentsOf other: borrowing PackedMessages) {
        queue.append(other.queue.bytes)
        count += other.count
        boundCount += other.boundCount
    }

    /// Removes the messages that must not be sent on a later connection. The others keep their order.
    mutating func removeBound() {
        guard boundCount > 0 else { return }
        var kept = ByteQueue()
        var taken = 0
        let bytes = queue.bytes
        while taken < bytes.count {
            let message = Self.view(bytes.baseAddress! + taken)
            if !message.isBound {
                kept.append(UnsafeRawBufferPointer(rebasing: bytes[taken..<(taken + message.size)]))
            }
            taken += message.size
        }
        queue = kept
        (count, boundCount) = (count - boundCount, 0)
    }

    /// - Parameter keepsMemory: Whether to keep memory of any size, because more messages are expected soon.
    mutating func removeAll(keepsMemory: Bool = false) {
        queue.removeAll(keepingUpTo: keepsMemory ? .max : Self.keptCapacity)
        (count, boundCount) = (0, 0)
    }

    /// Removes the messages in order, up to the first one for which the body returns false. That one and all
    /// later ones stay.
    ///
    /// - Returns: Whether all were removed.
    mutating func takeOut(while isTaken: (View) -> Bool) -> Bool {
        var taken = (count: 0, bytes: 0, bound: 0)
        let bytes = queue.bytes
        while taken.count < count {
            let message = Self.view(bytes.baseAddress! + taken.bytes)
            guard isTaken(message) else { break }
            taken = (taken.count + 1, taken.bytes + message.size, taken.bound + (message.isBound ? 1 : 0))
        }
        if taken.count == count {
            removeAll(keepsMemory: true)
            return true
        }
        queue.removeFirst(taken.bytes)
        count -= taken.count
        boundCount -= taken.bound
        return false
    }

    /// - Parameter address: The address of the head of a message that ``append(_:ifSizeIsAtMost:)`` has
    ///   copied.
    private static func view(_ address: UnsafeRawPointer) -> View {
        let head = address.loadUnaligned(as: Head.self)
        let subject = address + MemoryLayout<Head>.size
        let reply = subject + head.subject + 1
        let headers = reply + head.reply + 1
        let payload = headers + head.headers
        return View(
            subject: subject.assumingMemoryBound(to: CChar.self),
            reply: head.reply < 0 ? nil : reply.assumingMemoryBound(to: CChar.self),
            headerCount: head.headerCount,
            headers: headers.assumingMemoryBound(to: CChar.self),
            payload: UnsafeRawBufferPointer(start: payload, count: head.payload),
            isBound: head.isBound,
            size: head.size
        )
    }
}

extension PackedMessages {
    /// A message in the buffer, valid only during the call that receives it.
    struct View {
        let subject: UnsafePointer<CChar>
        let reply: UnsafePointer<CChar>?
        let headerCount: Int
        fileprivate let headers: UnsafePointer<CChar>
        let payload: UnsafeRawBufferPointer
        fileprivate let isBound: Bool
        /// The size including the head.
        fileprivate let size: Int

        /// Calls a body for each header.
        func forEachHeader(_ body: (_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>) -> Void) {
            var text = headers
            for _ in 0..<headerCount {
                // Each is terminated by a zero byte, so it is a C string.
                let value = text + strlen(text) + 1
                body(text, value)
                text = value + strlen(value) + 1
            }
        }
    }
}

extension PackedMessages.Head {
    fileprivate init(_ message: borrowing some OutgoingMessage) {
        subject = message.subject.utf8.count
        reply = message.reply?.utf8.count ?? -1
        payload = message.payload.count
        isBound = message.isBoundToConnection
        let fields = message.fields
        headerCount = fields.count + (message.identifier == nil ? 0 : 1)
        // Plus two zero bytes each.
        headers = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
        if let identifier = message.identifier {
            headers += NATSMessage.identifierHeader.utf8.count + identifier.utf8.count + 2
        }
    }

    /// The size of the message, including everything that follows the head.
    fileprivate var size: Int { MemoryLayout<Self>.size + subject + 1 + reply + 1 + headers + payload }
}

/// Copies texts and bytes one after another into memory, which must have room for all of them.
private struct TextWriter {
    private var rest: UnsafeMutableRawBufferPointer

    init(_ memory: Slice<UnsafeMutableRawBufferPointer>) {
        rest = UnsafeMutableRawBufferPointer(rebasing: memory)
    }

    mutating func add(_ name: String, _ value: String) {
        add(name)
        add(value)
    }

    /// Copies a text and a zero byte.
    mutating func add(_ text: String) {
        // A native Swift string has contiguous bytes. Others are copied first.
        if text.utf8.withContiguousStorageIfAvailable({ add(UnsafeRawBufferPointer($0)) }) == nil {
            add(Array(text.utf8))
        }
        withUnsafeBytes(of: UInt8(0)) { add($0) }
    }

    mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        // Traps if there is not enough room.
        rest.copyMemory(from: bytes)
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[bytes.count...])
    }
}
#endif
