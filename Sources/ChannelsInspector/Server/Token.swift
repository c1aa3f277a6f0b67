#if Inspector
/// The token that a visitor must present if other machines can connect.
enum Token {
    /// 160 random bits, as hexadecimal digits.
    static func random() -> String {
        (0..<40).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    }

    /// Whether two tokens are equal, in constant time.
    static func matches(_ presented: some StringProtocol, _ expected: String) -> Bool {
        let presented = Array(presented.utf8)
        let expected = Array(expected.utf8)
        guard presented.count == expected.count else { return false }
        return zip(presented, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
#endif
