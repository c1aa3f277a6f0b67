#if SQLite
import Foundation
import TestSupport
import Testing

/// Whole histories of a file and the processes that use it: killed, stopped and closed, with commits and reads that fail,
/// clocks that step, names that are removed and older copies that are restored. A history is played by one thread in no time.
///
/// `Scripts/verify sqlite-histories` plays as many as one likes, and shows that planted faults are found.
struct SimulationTests {
    /// A process that becomes a member in the turn in which it reads what others have committed has not read yet who they
    /// are: it looks once more.
    @Test func aMemberThatIsKilledJustAfterAnotherHasSubscribedLeavesItsMessagesToIt() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID())").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let world = try World(seed: 1, folder: folder)
        let (first, second) = (Process(0, world), Process(1, world))
        world.processes = [first, second]
        second.start()
        second.turn()
        first.start()
        first.subscribe("kitchen")
        first.turn()
        first.publish("m1", isDurable: true)
        first.turn()
        #expect(first.state.contains("m1"))
        // It finds what the first has committed, in the turn in which it becomes a member.
        second.subscribe("kitchen")
        second.turn()
        first.kill()
        // Less than until retention, which looks at the members, too.
        for _ in 0..<30 {
            world.advance(.milliseconds(100))
            second.turn()
        }
        #expect(second.state.contains("held [\"m1\"]"))
        #expect(world.problems == [])
    }

    @Test(arguments: 0..<2)
    func whatIsAcknowledgedIsHeardAndNothingSettledComesAgain(part: Int) throws {
        let memory = URL(filePath: "/dev/shm")
        let isThere = FileManager.default.isWritableFile(atPath: memory.path())
        let folder = (isThere ? memory : FileManager.default.temporaryDirectory)
            .appending(path: "channels-\(UUID())").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let filter = "--traits SQLite --disable-xctest --filter SimulationTests"
        let wrong = try playHistories(400, part: part, filter: filter) { seed in
            let world = try World(seed: seed, folder: folder)
            // The names are there from the start: nothing is kept for one that is not known.
            try world.settle()
            for _ in 0..<2 {
                for _ in 0..<60 { try world.step() }
                try world.settle()
            }
            try world.end()
            return (world.problems, world.log)
        }
        if let wrong { Issue.record("\(wrong)") }
    }
}
#endif
