#if SQLite
import Foundation
import TestSupport
import Testing

/// Whole histories of a file and the processes that use it: killed, stopped and closed, with commits that fail, clocks that
/// step, names that are removed and older copies that are restored. A history is played by one thread in no time.
///
/// `CHANNELS_HISTORIES` says how many; `Scripts/verify sqlite-histories` plays as many as one likes, and shows that
/// faults are found.
struct SimulationTests {
    static let count = ProcessInfo.processInfo.environment["CHANNELS_HISTORIES"].flatMap { Int($0) } ?? 1_000
    /// So many parts run at once.
    static let parts = 2

    @Test(arguments: 0..<parts)
    func whatIsAcknowledgedIsHeardAndNothingSettledComesAgain(part: Int) throws {
        let memory = URL(filePath: "/dev/shm")
        let isThere = FileManager.default.isWritableFile(atPath: memory.path())
        let folder = (isThere ? memory : FileManager.default.temporaryDirectory)
            .appending(path: "channels-\(UUID())").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for seed in Seed.numbers(Self.count) where seed % Self.parts == part {
            let world = try World(seed: seed, folder: folder)
            // The names are there from the start: nothing is kept for one that is not known.
            try world.settle()
            for _ in 0..<2 {
                for _ in 0..<60 { try world.step() }
                try world.settle()
            }
            try world.end()
            guard world.problems.isEmpty else {
                let problems = world.problems.prefix(3).joined(separator: "\n")
                let again = "CHANNELS_SEED=\(seed) swift test --traits SQLite --disable-xctest --filter SimulationTests"
                Issue.record("history \(seed), again with \(again)\n\(problems)\n\(world.log.suffix(400).joined(separator: "\n"))")
                return
            }
        }
    }
}
#endif
