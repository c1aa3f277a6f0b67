/// 128 random bits, as 32 hexadecimal digits. They must be unpredictable: a broker drops a message whose
/// identifier it knows, so a peer that can guess one can suppress the message.
package func randomIdentifier() -> String {
    var generator = SystemRandomNumberGenerator()
    let words = (generator.next(), generator.next())
    // Each of the 32 bytes is written.
    return unsafe String(unsafeUninitializedCapacity: 32) { text in
        for digit in 0..<32 {
            let word = digit < 16 ? words.0 : words.1
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - digit % 16 * 4)) & 0xF
            unsafe text[digit] = value < 10 ? UInt8(ascii: "0") + value : 87 + value
        }
        return 32
    }
}

/// Identifies a message in this process by a hash, because texts from peers may be long. The hash has a
/// random key in each process, so that no peer can make two messages collide.
struct MessageKey: Hashable, Sendable {
    private let hash: Int

    /// Hashes the texts by their bytes, including where one ends and the next begins. Texts that are equal
    /// but have different bytes therefore have different keys.
    ///
    /// - Complexity: O(*n*) in the number of bytes.
    init(_ texts: String...) {
        var hasher = Hasher()
        for var text in texts {
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(text.utf8.count)
        }
        hash = hasher.finalize()
    }
}
