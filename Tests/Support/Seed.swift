import Foundation

/// A generator whose numbers are the same for the same seed (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The seed of a randomised test. Where the test fails, its argument is shown: the seed, with the command that repeats
/// it.
package struct Seed: Sendable, CustomStringConvertible {
    package let number: Int
    private let suite: String

    package var description: String {
        "\(number), again with CHANNELS_SEED=\(number) swift test --disable-xctest --filter \(suite)"
    }

    /// As many seeds, or the one that `CHANNELS_SEED` asks for, of the suite that has the name of its file.
    package static func first(_ count: Int, fileID: String = #fileID) -> [Seed] {
        let suite = fileID.split { "/.".contains($0) }.dropLast().last ?? ""
        return numbers(count).map { Seed(number: $0, suite: String(suite)) }
    }

    package func advanced(by count: Int) -> Seed { Seed(number: number + count, suite: suite) }

    package static func numbers(_ count: Int) -> Range<Int> {
        guard let seed = ProcessInfo.processInfo.environment["CHANNELS_SEED"].flatMap({ Int($0) }) else {
            return 0..<count
        }
        return seed..<seed + 1
    }
}
