/// 128 random bits, as 32 hexadecimal digits. A broker drops a message whose identifier it knows, so a peer
/// that can guess one can suppress the message.
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

/// What identifies a message in this process: a hash of texts of peers, which may be long. Its key is random for each
/// process, so that no peer can make two collide.
struct MessageKey: Hashable, Sendable {
    private let hash: Int

    /// Where one text ends and the next begins makes a difference, and so do the bytes of texts that are equal.
    ///
    /// - Complexity: O(*n*) in their bytes.
    init(_ texts: String...) {
        var hasher = Hasher()
        for var text in texts {
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(text.utf8.count)
        }
        hash = hasher.finalize()
    }
}
