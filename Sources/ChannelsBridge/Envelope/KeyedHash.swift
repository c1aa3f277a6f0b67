/// SipHash-2-4 with 128 bits and a secret random key: what it returns cannot be guessed or made to collide by
/// anybody who does not know the key.
///
/// It makes identifiers from numbers, several times faster than asking the system for random bits each time,
/// and digests of the texts of peers, which may be long.
struct KeyedHash: Sendable {
    /// 128 bits.
    struct Digest: Hashable, Sendable {
        let first: UInt64
        let second: UInt64

        /// 32 hexadecimal digits.
        var text: String {
            // Each of the 32 bytes is written.
            unsafe String(unsafeUninitializedCapacity: 32) { text in
                for (place, word) in [first, second].enumerated() {
                    for digit in 0..<16 {
                        let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - digit * 4)) & 0xF
                        unsafe text[place * 16 + digit] = value < 10 ? UInt8(ascii: "0") + value : 87 + value
                    }
                }
                return 32
            }
        }
    }

    private let key: (UInt64, UInt64)

    /// With a random key.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(key: generator.next(), generator.next())
    }

    init(key first: UInt64, _ second: UInt64) {
        key = (first, second)
    }

    /// The digest of eight bytes.
    func digest(of number: UInt64) -> Digest {
        var state = State(key)
        state.add(number)
        return state.digest(last: 8 << 56)
    }

    /// The digest of several texts in order. Where one ends and the next begins makes a difference.
    ///
    /// - Complexity: O(*n*) in their bytes.
    func digest(of texts: String...) -> Digest {
        var state = State(key)
        var total: UInt64 = 0
        for text in texts {
            var (word, shift): (UInt64, UInt64) = (0, 0)
            for byte in text.utf8 {
                word |= UInt64(byte) << shift
                shift += 8
                guard shift == 64 else { continue }
                state.add(word)
                (word, shift) = (0, 0)
            }
            // The rest, and how long the text was: no other texts have the same words.
            state.add(word)
            state.add(UInt64(text.utf8.count))
            total &+= UInt64(text.utf8.count)
        }
        return state.digest(last: total << 56)
    }

    private struct State {
        private var words: (UInt64, UInt64, UInt64, UInt64)

        init(_ key: (UInt64, UInt64)) {
            words = (
                key.0 ^ 0x736f_6d65_7073_6575, key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee, key.0 ^ 0x6c79_6765_6e65_7261,
                key.1 ^ 0x7465_6462_7974_6573
            )
        }

        mutating func add(_ word: UInt64) {
            words.3 ^= word
            rounds(2)
            words.0 ^= word
        }

        mutating func digest(last: UInt64) -> Digest {
            add(last)
            words.2 ^= 0xee
            rounds(4)
            let first = words.0 ^ words.1 ^ words.2 ^ words.3
            words.1 ^= 0xdd
            rounds(4)
            return Digest(first: first, second: words.0 ^ words.1 ^ words.2 ^ words.3)
        }

        private mutating func rounds(_ count: Int) {
            for _ in 0..<count {
                words.0 &+= words.1
                words.1 = words.1.rotatedLeft(13) ^ words.0
                words.0 = words.0.rotatedLeft(32)
                words.2 &+= words.3
                words.3 = words.3.rotatedLeft(16) ^ words.2
                words.0 &+= words.3
                words.3 = words.3.rotatedLeft(21) ^ words.0
                words.2 &+= words.1
                words.1 = words.1.rotatedLeft(17) ^ words.2
                words.2 = words.2.rotatedLeft(32)
            }
        }
    }
}

extension UInt64 {
    fileprivate func rotatedLeft(_ count: UInt64) -> UInt64 { self << count | self >> (64 - count) }
}
