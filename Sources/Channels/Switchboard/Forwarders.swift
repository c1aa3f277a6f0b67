/// The entries that forward to the listener of a pattern, by the address of the channel's list.
///
/// Among many channels the entries are in many dictionaries, so that no insertion moves more than
/// ``longestPart`` of them: others wait for it.
struct Forwarders {
    /// Moved in some hundred microseconds.
    static let longestPart = 4_096
    private static let partCount = 256

    private var parts: [[UInt: ListenerEntry]] = [[:]]
    private var hasEnded = false

    private func part(of address: UInt) -> Int {
        // Fibonacci hashing: the top bits of a product depend on all bits of the address.
        parts.count == 1 ? 0 : Int(truncatingIfNeeded: (UInt64(address) &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }

    /// Whether a list has no entry and may have one.
    func mayInsert(_ address: UInt) -> Bool { !hasEnded && parts[part(of: address)][address] == nil }

    mutating func insert(_ entry: ListenerEntry, for address: UInt) {
        if parts.count == 1, parts[0].count == Self.longestPart { split() }
        parts[part(of: address)][address] = entry
    }

    mutating func remove(_ address: UInt) -> ListenerEntry? { parts[part(of: address)].removeValue(forKey: address) }

    /// Hands out the entries; from now on there are none.
    mutating func end() -> [[UInt: ListenerEntry]] {
        defer { parts = [[:]] }
        hasEnded = true
        return parts
    }

    private mutating func split() {
        let all = parts[0]
        parts = Array(repeating: [:], count: Self.partCount)
        for (address, entry) in all { parts[part(of: address)][address] = entry }
    }
}
