internal import Channels

/// The headers of a message: names with one value each, in the order in which they were set.
///
/// A name consists of visible ASCII characters other than a colon; case is ignored. A value has no control
/// characters, and no leading or trailing space, because brokers would remove it. ``set(_:for:)`` throws if a
/// name or value is invalid, so a value cannot inject another header or a command.
public struct TransportHeaders: Hashable, Sendable {
    package private(set) var fields: [Field] = []

    /// A name with its value.
    package struct Field: Hashable, Sendable {
        package let name: String
        package fileprivate(set) var value: String

        package init(name: String, value: String) {
            (self.name, self.value) = (name, value)
        }

        package static func == (left: Field, right: Field) -> Bool {
            left.name.hasBytes(of: right.name) && left.value.hasBytes(of: right.value)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(ExactText(name))
            hasher.combine(ExactText(value))
        }
    }

    /// Creates empty headers.
    public init() {}

    /// Creates empty headers with memory for this many.
    package init(capacity: Int) {
        fields.reserveCapacity(capacity)
    }

    /// The value of a header, or nil if it is not set.
    ///
    /// Case is ignored.
    ///
    /// - Complexity: O(*n*) in the number of headers.
    public subscript(name: String) -> String? {
        fields.first { Self.areEqual($0.name, name) }?.value
    }

    /// Sets a header, replacing one with the same name.
    ///
    /// - Throws: ``BridgeError/Code/invalidHeader`` if the name or the value is not valid. In that case, the
    ///   headers are unchanged.
    public mutating func set(_ value: String, for name: String) throws {
        try Self.check(value, for: name)
        setValid(value, for: name)
    }

    /// Throws unless the name and the value fit into a header line. A space at either end is refused as well,
    /// because receivers remove it, and the rest may be empty.
    ///
    /// - Throws: ``BridgeError/Code/invalidHeader``.
    package static func check(_ value: String, for name: String) throws(BridgeError) {
        let isName = !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
        let problem: String
        if !isName {
            problem = "the name \(quoted(name)) is not made of visible ASCII characters other than a colon"
        } else if value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            problem = "the value \(quoted(value)) of \(quoted(name)) has a control character"
        } else if value.utf8.first == 0x20 || value.utf8.last == 0x20 {
            problem = "the value \(quoted(value)) of \(quoted(name)) has a space at an end"
        } else {
            return
        }
        throw BridgeError(.invalidHeader, detail: problem)
    }

    /// Removes a header.
    public mutating func remove(_ name: String) {
        fields.removeAll { Self.areEqual($0.name, name) }
    }

    /// Sets a header known to be valid.
    package mutating func setValid(_ value: String, for name: String) {
        if let index = fields.firstIndex(where: { Self.areEqual($0.name, name) }) {
            fields[index].value = value
        } else {
            fields.append(Field(name: name, value: value))
        }
    }

    /// Adds a header known to be valid and not yet set.
    package mutating func append(valid value: String, for name: String) {
        fields.append(Field(name: name, value: value))
    }

    /// A copy of these headers, with memory for this many more.
    package func reserving(more count: Int) -> TransportHeaders {
        var headers = TransportHeaders(capacity: fields.count + count)
        headers.fields += fields
        return headers
    }

    private static func areEqual(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        // Most names have the same case, which is faster to check.
        return left == right || zip(left.utf8, right.utf8).allSatisfy { $0 == $1 || lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension TransportHeaders: Sequence {
    /// Each name with its value, in the order in which the names were first set.
    public func makeIterator() -> AnyIterator<(name: String, value: String)> {
        var rest = fields.makeIterator()
        return AnyIterator { rest.next().map { (name: $0.name, value: $0.value) } }
    }

    /// The number of headers.
    public var count: Int { fields.count }

    /// The bytes of all names and values.
    ///
    /// - Complexity: O(*n*) in the number of headers.
    package var byteCount: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// Whether there are no headers.
    public var isEmpty: Bool { fields.isEmpty }
}

extension TransportHeaders: ExpressibleByDictionaryLiteral {
    /// Creates headers from a literal.
    ///
    /// Traps if one is not valid.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements {
            do { try set(value, for: name) } catch {
                fatalError("\(error); 'TransportHeaders.set(_:for:)' throws instead")
            }
        }
    }
}

extension TransportHeaders {
    /// The unique identifier of a message, by which a broker may drop duplicates: `ce-id`.
    public static let id = "ce-id"
    /// The media type of the body: `content-type`.
    public static let contentType = "content-type"
}
