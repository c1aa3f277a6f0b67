#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#endif

/// Reads the UTF-8 of a string. `@safe` because it is lent for a call during which the string stays alive, and debug
/// builds check indices. Callers state why theirs are in range.
@safe
struct ByteReader {
    private let bytes: UnsafeBufferPointer<UInt8>

    fileprivate init(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = bytes }

    var count: Int { unsafe bytes.count }

    subscript(index: Int) -> UInt8 { unsafe bytes[index] }

    /// Whether both have the same bytes.
    static func == (left: ByteReader, right: ByteReader) -> Bool {
        guard left.count == right.count else { return false }
        // Both are the addresses of `count` bytes, and nil only if there are no bytes.
        return unsafe left.count == 0 || memcmp(left.bytes.baseAddress!, right.bytes.baseAddress!, left.count) == 0
    }

    /// The eight bytes from an offset on, as a little-endian word. All of them must be in range.
    func word(at offset: Int) -> UInt64 {
        assert(offset + 8 <= count, "bytes \(offset) to \(offset + 8) of \(count)")
        return unsafe UInt64(
            littleEndian: UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped + offset).loadUnaligned(as: UInt64.self)
        )
    }
}

extension String {
    func withByteReader<Result>(_ body: (ByteReader) -> Result) -> Result {
        var copy = self
        return copy.withUTF8 { unsafe body(ByteReader($0)) }
    }

    /// Returns whether two strings have the same representation, and therefore the same text. False is inconclusive.
    func hasRepresentation(of other: String) -> Bool {
        guard MemoryLayout<String>.size == MemoryLayout<(UInt64, UInt64)>.size else { return false }
        // Same size; only compared.
        let left = unsafe unsafeBitCast(self, to: (UInt64, UInt64).self)
        // Same size; only compared.
        let right = unsafe unsafeBitCast(other, to: (UInt64, UInt64).self)
        return left == right
    }

    /// Returns whether two strings have the same UTF-8; `==` treats canonical equivalents as equal.
    package func hasBytes(of other: String) -> Bool { withByteReader { bytes in other.withByteReader { bytes == $0 } } }
}

/// Writes the whole text to standard error, without buffering.
func writeToStandardError(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while unsafe !rest.isEmpty {
            let written = unsafe write(2, rest.baseAddress, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return }
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }
}
