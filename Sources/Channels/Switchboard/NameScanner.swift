/// Reads names eight bytes at a time, because most are ASCII, and a literal is read at each use.
enum NameScanner {
    private static let seed = UInt64(bitPattern: Int64(Hasher().finalize())) | 1

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// The hash of a text that is a valid name in ASCII; nil for any other text, valid or not.
    static func hashIfPlain(_ text: String) -> UInt64? {
        text.withByteReader { bytes in
            guard bytes.count > 0, bytes.count <= NameKey.longest else { return nil }
            var hash = start(bytes.count)
            // A name begins and ends as if there were a period next to it, and two in a row are invalid.
            var followsStop: UInt64 = 0x80
            var offset = 0
            while offset + 8 <= bytes.count {
                let word = bytes.word(at: offset)
                guard let stops = stopsIfPlain(word), stops & (stops << 8 | followsStop) == 0 else { return nil }
                followsStop = stops >> 56
                hash = fold(hash ^ word)
                offset += 8
            }
            let rest = lastWord(bytes, from: offset)
            guard let stops = stopsIfPlain(rest), stops & (stops << 8 | followsStop) == 0 else { return nil }
            // The word was padded with letters, so the last byte is checked separately.
            guard bytes[bytes.count - 1] != UInt8(ascii: ".") else { return nil }
            return fold(hash ^ rest)
        }
    }

    static func hash(_ text: String) -> UInt64 {
        text.withByteReader { bytes in
            var hash = start(bytes.count)
            var offset = 0
            while offset + 8 <= bytes.count {
                hash = fold(hash ^ bytes.word(at: offset))
                offset += 8
            }
            return fold(hash ^ lastWord(bytes, from: offset))
        }
    }

    static func hash(ofAddress address: UInt) -> UInt64 { fold(seed ^ UInt64(address)) }

    private static func start(_ count: Int) -> UInt64 {
        seed ^ (UInt64(truncatingIfNeeded: count) &* 0xE703_7ED1_A0B4_28DB)
    }

    /// The multiply-and-fold step of wyhash (Wang Yi, public domain).
    private static func fold(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        return product.high ^ product.low
    }

    /// The bytes that do not fill a word, padded with letters.
    private static func lastWord(_ bytes: ByteReader, from offset: Int) -> UInt64 {
        var word = ones &* UInt64(UInt8(ascii: "a"))
        var index = bytes.count
        while index > offset {
            index -= 1
            word = word << 8 | UInt64(bytes[index])
        }
        return word
    }

    /// Marks the periods of a word by high bits; nil if a byte is not an ASCII character allowed in names. If all high
    /// bits are clear, no sum carries into the next byte, so each byte is tested independently ("determining if a word
    /// has a zero byte", S. E. Anderson, Bit Twiddling Hacks).
    private static func stopsIfPlain(_ word: UInt64) -> UInt64? {
        guard word & highBits == 0 else { return nil }
        func differs(from byte: UInt8) -> UInt64 { (word ^ ones &* UInt64(byte)) &+ ones &* 0x7F }
        // The high bit of each byte tells whether it is above the space and the control characters.
        let isAboveSpace = word &+ ones &* (0x80 - 0x21)
        let isAllowed =
            isAboveSpace & differs(from: 0x7F) & differs(from: UInt8(ascii: "*")) & differs(from: UInt8(ascii: ">"))
        guard isAllowed & highBits == highBits else { return nil }
        return ~differs(from: UInt8(ascii: ".")) & highBits
    }
}
