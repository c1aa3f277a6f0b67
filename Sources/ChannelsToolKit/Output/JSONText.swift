#if Tool
/// A text that is known to be JSON in UTF-8, as RFC 8259 defines it.
///
/// It is kept as it is written: numbers keep their digits, and objects the order of their members. Time and
/// memory are linear in the length, whatever the depth.
struct JSONText: Sendable {
    /// A member of the outermost object, or an element of the outermost array, as ranges of ``bytes``.
    private struct Member {
        /// Without quotation marks; empty in an array.
        let name: Range<Int>
        let value: Range<Int>
    }

    let bytes: [UInt8]
    private let isObject: Bool
    private let members: [Member]

    /// Returns nil if the bytes are not JSON.
    init?(_ bytes: [UInt8]) {
        // Everything outside strings is ASCII, so this checks the strings.
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = Reader(bytes: bytes)
        guard reader.read() else { return nil }
        self.bytes = bytes
        isObject = reader.isObject
        members = reader.members
    }

    /// The value of the last member of the outermost object with this name; nil if there is none. A name that
    /// is written with escapes is not found.
    subscript(name: String) -> ArraySlice<UInt8>? {
        guard isObject else { return nil }
        return members.last { bytes[$0.name].elementsEqual(name.utf8) }.map { bytes[$0.value] }
    }

    /// The elements of the outermost array, or the values of the outermost object.
    var elements: [ArraySlice<UInt8>] { members.map { bytes[$0.value] } }

    private struct Reader {
        private enum Expected { case value, valueOrEnd, name, nameOrEnd, colon, commaOrEnd, nothing }

        let bytes: [UInt8]
        var members: [Member] = []
        /// Whether the outermost value is an object.
        var isObject = false
        private var position = 0
        /// Whether each open container is an object.
        private var containers: [Bool] = []
        private var expected = Expected.value
        /// The name of the member of the outermost object that is being read; nil in an array.
        private var name: Range<Int>?
        private var valueStart = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        /// Returns false if the text is not JSON.
        mutating func read() -> Bool {
            while true {
                while let byte = next, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { position += 1 }
                guard let byte = next else { return expected == .nothing }
                guard step(byte) else { return false }
            }
        }

        private mutating func step(_ byte: UInt8) -> Bool {
            switch expected {
            case .nothing: return false
            case .valueOrEnd where byte == UInt8(ascii: "]"): return end(of: false)
            case .value, .valueOrEnd: return value(byte)
            case .nameOrEnd where byte == UInt8(ascii: "}"): return end(of: true)
            case .name, .nameOrEnd:
                let start = position + 1
                guard byte == UInt8(ascii: "\""), string() else { return false }
                if containers.count == 1 { name = start..<(position - 1) }
                expected = .colon
                return true
            case .colon:
                guard byte == UInt8(ascii: ":") else { return false }
                position += 1
                expected = .value
                return true
            case .commaOrEnd:
                // There is an open container, because otherwise nothing would be expected.
                let isObject = containers[containers.count - 1]
                guard byte == UInt8(ascii: ",") else { return end(of: byte == UInt8(ascii: "}")) }
                position += 1
                expected = isObject ? .name : .value
                return true
            }
        }

        private mutating func value(_ byte: UInt8) -> Bool {
            if containers.count == 1 { valueStart = position }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = byte == UInt8(ascii: "{")
                if containers.isEmpty { self.isObject = isObject }
                containers.append(isObject)
                expected = isObject ? .nameOrEnd : .valueOrEnd
                position += 1
                return true
            case UInt8(ascii: "\""): return string() && valueEnded()
            case UInt8(ascii: "t"): return word("true") && valueEnded()
            case UInt8(ascii: "f"): return word("false") && valueEnded()
            case UInt8(ascii: "n"): return word("null") && valueEnded()
            default: return number() && valueEnded()
            }
        }

        private mutating func end(of isObject: Bool) -> Bool {
            guard next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")), containers.last == isObject else {
                return false
            }
            containers.removeLast()
            position += 1
            return valueEnded()
        }

        private mutating func valueEnded() -> Bool {
            if containers.count == 1 {
                members.append(Member(name: name ?? valueStart..<valueStart, value: valueStart..<position))
            }
            expected = containers.isEmpty ? .nothing : .commaOrEnd
            return true
        }

        private mutating func string() -> Bool {
            position += 1
            while let byte = next {
                position += 1
                switch byte {
                case UInt8(ascii: "\""): return true
                case 0..<0x20: return false
                case UInt8(ascii: "\\"):
                    guard let escaped = next else { return false }
                    position += 1
                    if escaped == UInt8(ascii: "u") {
                        for _ in 0..<4 {
                            guard let digit = next, isHexadecimal(digit) else { return false }
                            position += 1
                        }
                    } else if !"\"\\/bfnrt".utf8.contains(escaped) {
                        return false
                    }
                default: break
                }
            }
            return false
        }

        private func isHexadecimal(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }

        private mutating func word(_ word: String) -> Bool {
            guard bytes[position...].starts(with: word.utf8) else { return false }
            position += word.utf8.count
            return true
        }

        private mutating func number() -> Bool {
            if next == UInt8(ascii: "-") { position += 1 }
            if next == UInt8(ascii: "0") {
                position += 1
            } else if !digits() {
                return false
            }
            if next == UInt8(ascii: ".") {
                position += 1
                guard digits() else { return false }
            }
            if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
                position += 1
                if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
                guard digits() else { return false }
            }
            return true
        }

        /// Reads one or more digits.
        private mutating func digits() -> Bool {
            let start = position
            while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
            return position > start
        }
    }
}
#endif
