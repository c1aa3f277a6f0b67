import Foundation

/// Plays one of two parts of the histories that are asked for, up to the first that is not as it has to be.
///
/// `CHANNELS_HISTORIES` says how many histories, `CHANNELS_FIRST_HISTORY` the first, and `CHANNELS_SEED` that it is to be
/// this one only.
///
/// - Parameters:
///   - usual: How many, where nobody asks for a number.
///   - filter: The arguments of `swift test` that select the test.
///   - play: Plays the history of a seed. Returns what was not as it has to be, and its steps.
/// - Returns: What was wrong, with the command that repeats it; nil if nothing was.
package func playHistories(
    _ usual: Int,
    part: Int,
    filter: String,
    _ play: (_ seed: Int) throws -> (problems: [String], log: [String])
) rethrows -> String? {
    func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }
    let first = number("CHANNELS_FIRST_HISTORY") ?? 0
    let seeds = number("CHANNELS_SEED").map { $0..<$0 + 1 } ?? first..<first + (number("CHANNELS_HISTORIES") ?? usual)
    // Of the steps, for the proof that compares two processes.
    let isCompared = number("CHANNELS_HISTORIES") != nil
    var digest: UInt64 = 0
    for seed in seeds where seed % 2 == part {
        let (problems, log) = try play(seed)
        if isCompared { for line in log { for byte in line.utf8 { digest = digest &* 31 &+ UInt64(byte) } } }
        guard !problems.isEmpty else { continue }
        let again = "CHANNELS_SEED=\(seed) swift test \(filter)"
        return "history \(seed), again with \(again)\n\((problems.prefix(3) + log.suffix(400)).joined(separator: "\n"))"
    }
    if isCompared { print("digest of part \(part): \(digest)") }
    return nil
}
