#if SQLite && canImport(Glibc)
@testable import ChannelsSQLite
import Foundation
import TestSupport
import Testing

/// What the system tells of a file. (On Apple's systems, only of writes.)
@Suite(.hangLimit)
struct FileWatchTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID())").path()
    private let watch = FileWatch()
    private let wakeUp: WakeUp

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        wakeUp = try WakeUp()
    }

    private func file(_ name: String) throws -> (path: String, handle: FileHandle) {
        let path = folder + "/" + name
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        return (path, try #require(FileHandle(forUpdatingAtPath: path)))
    }

    /// However long that takes.
    private func wait() -> FileWatch.Hints { watch.wait(until: .now + .seconds(600), wakeUp) }

    @Test func writingIsHintedAtAndClosingOfAMemberIs() throws {
        let (log, member) = (try file("log"), try file("member"))
        watch.follow(WatchList(log: log.path, members: [member.path]))
        #expect(watch.isWatching)
        try log.handle.write(contentsOf: Data([1]))
        var hints = wait()
        #expect(hints.isLogWritten && !hints.hasMemberClosed)
        // Whoever looks at it closes it, too.
        try #require(FileHandle(forReadingAtPath: member.path)).close()
        try member.handle.close()
        hints = wait()
        #expect(!hints.isLogWritten && hints.hasMemberClosed)
        // What is taken is not told again.
        try log.handle.write(contentsOf: Data([1]))
        _ = watch.takeHints()
        wakeUp.ring()
        #expect(!wait().isLogWritten)
        try FileManager.default.removeItem(atPath: folder)
    }

    /// A file that was replaced has another log, of the same name.
    @Test func anotherSessionWatchesTheLogThatIsThereThen() throws {
        let old = try file("log")
        watch.follow(WatchList(log: old.path, session: 1))
        try FileManager.default.removeItem(atPath: old.path)
        let new = try file("log")
        _ = watch.takeHints()
        watch.follow(WatchList(log: new.path, session: 2))
        try new.handle.write(contentsOf: Data([1]))
        #expect(wait().isLogWritten)
        try FileManager.default.removeItem(atPath: folder)
    }

    /// It may have ended before it was watched.
    @Test func memberThatIsNotThereHasClosed() throws {
        let log = try file("log")
        watch.follow(WatchList(log: log.path, members: [folder + "/member"]))
        #expect(wait().hasMemberClosed)
        watch.follow(WatchList(log: folder + "/nothing", session: 1))
        #expect(!watch.isWatching)
        try FileManager.default.removeItem(atPath: folder)
    }
}
#endif
