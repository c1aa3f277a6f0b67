#if NATS
/// Messages in one contiguous buffer, in the form that the C client needs.
///
/// Waiting messages pass from the publishing threads to the writing one. As bytes, they need no allocation
/// per message, and the threads do not count references to the same subject and payload in turn, which costs
/// more than copying a few hundred bytes.
struct PackedMessages {
    /// Precedes each message. The texts follow, each terminated by a zero: the subject, the reply if there is
    /// one, name and value of each header; then the payload.
    fileprivate struct Head {
        var subject: Int
        /// -1 if there is none.
        var reply: Int
        var headers: Int
        /// The bytes of all names and values, with their zeros.
        var fields: Int
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
    static func size(of message: NATSMessage) -> Int {
        let head = Head(message)
        return MemoryLayout<Head>.size + head.subject + 1 + head.reply + 1 + head.fields + head.payload
    }

    /// Copies a message whose texts have no zero in them; see ``NATSMessage/check()``.
    mutating func append(_ message: NATSMessage) {
        withUnsafeBytes(of: Head(message)) { bytes.append(contentsOf: $0) }
        append(message.subject)
        if let reply = message.reply { append(reply) }
        for header in message.headers {
            append(header.name)
            append(header.value)
        }
        bytes.append(contentsOf: message.payload)
        count += 1
        if message.isBoundToConnection { boundCount += 1 }
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
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
        let fields = reply + head.reply + 1
        let payload = fields + head.fields
        let view = View(
            subject: subject.assumingMemoryBound(to: CChar.self),
            reply: head.reply < 0 ? nil : reply.assumingMemoryBound(to: CChar.self),
            headerCount: head.headers,
            fields: UnsafeRawBufferPointer(start: fields, count: head.fields),
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
        let payload: UnsafeRawBufferPointer
        private let fields: UnsafeRawBufferPointer

        fileprivate init(
            subject: UnsafePointer<CChar>,
            reply: UnsafePointer<CChar>?,
            headerCount: Int,
            fields: UnsafeRawBufferPointer,
            payload: UnsafeRawBufferPointer
        ) {
            self.subject = subject
            self.reply = reply
            self.headerCount = headerCount
            self.fields = fields
            self.payload = payload
        }

        /// Calls a body for each header.
        func forEachHeader(_ body: (_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>) -> Void) {
            var rest = fields[...]
            for _ in 0..<headerCount {
                let name = Self.text(&rest)
                body(name, Self.text(&rest))
            }
        }

        /// The first of several zero-terminated texts.
        private static func text(_ rest: inout Slice<UnsafeRawBufferPointer>) -> UnsafePointer<CChar> {
            let end = rest.firstIndex(of: 0)!
            defer { rest = rest[(end + 1)...] }
            // With its zero, it is a C string.
            return (rest.base.baseAddress! + rest.startIndex).assumingMemoryBound(to: CChar.self)
        }
    }
}

extension PackedMessages.Head {
    fileprivate init(_ message: NATSMessage) {
        subject = message.subject.utf8.count
        reply = message.reply?.utf8.count ?? -1
        headers = message.headers.count
        fields = message.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
        payload = message.payload.count
        isBound = message.isBoundToConnection
    }
}
#endif
