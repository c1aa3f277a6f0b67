#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import Foundation
import GRDB
import TestSupport

/// One file and the processes that use it, played by one thread with a clock of its own: what happens next, and to whom, is
/// up to a seed.
///
/// After each stretch everything that was broken is mended, and the processes run until nothing is left to be done.
/// Then what they have heard is compared with what was acknowledged.
final class World: @unchecked Sendable {  // used by one thread
    typealias Instant = ContinuousClock.Instant

    static let names = ["kitchen", "office"]

    let folder: String
    let path: String
    var random: SeededGenerator
    private(set) var now = ContinuousClock.now
    /// No two messages have one time.
    var wallNow: Double {
        wall += 0.000_01
        return wall
    }
    private var wall = 1_800_000_000.0
    var processes: [Process] = []
    private var foreign: DatabaseQueue?
    private var isLocked = false
    /// The error of the next commits, and of how many.
    private var commitError: ResultCode?
    private var failingCommits = 0
    /// The same of what is read without a commit.
    private var readError: ResultCode?
    private var failingReads = 0
    private var published = 0

    /// What is in the file: the names, and for each the messages that were acknowledged since it is there, those that its
    /// listeners have settled, and those of which that is surely stored.
    struct Contents {
        var names: Set<String> = []
        var stored: [String: Set<String>] = [:]
        var heard: [String: Set<String>] = [:]
        var settled: [String: Set<String>] = [:]
        var value: String?
    }
    var contents = Contents()
    /// An older copy of the file, and what is in it.
    private var copy: Contents?
    /// What was not as it has to be.
    private(set) var problems: [String] = []
    private(set) var log: [String] = []

    init(seed: Int, folder: String) throws {
        random = SeededGenerator(seed: seed)
        self.folder = folder
        path = folder + "/history.sqlite"
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.removeItem(atPath: folder + "/" + file)
        }
        for place in 0..<Int.random(in: 1...3, using: &random) { processes.append(Process(place, self)) }
    }

    /// A message is in the file.
    func stores(_ text: String) { for name in contents.names { contents.stored[name, default: []].insert(text) } }

    /// Without the folder, which has another name in the next process.
    func note(_ line: String) { log.append(line.replacing(folder, with: "")) }

    func fail(_ problem: String) {
        log.append("PROBLEM: " + problem)
        problems.append(problem)
    }

    // MARK: The world of a connection

    var environment: FileEnvironment {
        FileEnvironment(
            now: { self.now },
            wallClock: { self.wallNow },
            willRead: { try self.willRead() },
            willCommit: { try self.willCommit() }
        )
    }

    private func willRead() throws {
        guard let readError, failingReads > 0 else { return }
        failingReads -= 1
        throw DatabaseError(resultCode: readError)
    }

    private func willCommit() throws {
        guard let commitError, failingCommits > 0 else { return }
        failingCommits -= 1
        throw DatabaseError(resultCode: commitError)
    }

    func advance(_ time: Duration) {
        now += time
        wall += time / .seconds(1)
    }

    // MARK: What happens

    /// One step, of a kind that the seed chooses.
    func step() throws {
        let process = processes.randomElement(using: &random)!
        // One that has ended is mostly started again.
        if !process.isRunning, Int.random(in: 0..<3, using: &random) > 0 { process.start() }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<38: process.turn()
        case 38..<40:
            (readError, failingReads) = (
                [.SQLITE_IOERR, .SQLITE_BUSY].randomElement(using: &random),
                Int.random(in: 1...4, using: &random)
            )
            note("reads fail")
        case 40..<60: publish(process)
        case 60..<72: process.settleOne()
        case 72..<76: process.subscribeToMore()
        case 76..<79: process.store()
        case 79..<82: advance(.milliseconds(Int.random(in: 1...20_000, using: &random)))
        case 82..<85:
            note("kill \(process.place)")
            process.kill()
        case 85..<87: process.close()
        case 87: process.isStopped.toggle()
        case 88: wall += Double.random(in: -1_000_000...1_000_000, using: &random)
        case 89..<91:
            (commitError, failingCommits) = (
                [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY].randomElement(using: &random),
                Int.random(in: 1...4, using: &random)
            )
            note("commits fail")
        case 91..<93: try lock(!isLocked)
        case 93..<95: try makeCopy()
        case 95..<97: try restore()
        case 97: try removeName()
        case 98: try replace()
        default: process.subscribeToAll()
        }
    }

    private func publish(_ process: Process) {
        let count = Int.random(in: 1...3, using: &random)
        for _ in 0..<count {
            published += 1
            process.publish("m\(published)", isDurable: Int.random(in: 0..<5, using: &random) > 0)
        }
    }

    private func withForeign(_ body: (DatabaseQueue) throws -> Void) throws {
        if foreign == nil {
            guard FileManager.default.fileExists(atPath: path) else { return }
            var settings = Configuration()
            settings.allowsUnsafeTransactions = true
            settings.busyMode = .immediateError
            foreign = try DatabaseQueue(path: path, configuration: settings)
            guard try foreign!.read({ try SQLiteSchema.isThere($0) }) else {
                foreign = nil
                return
            }
        }
        try body(foreign!)
    }

    private func lock(_ locks: Bool) throws {
        guard locks != isLocked else { return }
        try withForeign { database in
            try database.writeWithoutTransaction { try $0.execute(sql: locks ? "BEGIN IMMEDIATE" : "COMMIT") }
            isLocked = locks
            note(locks ? "lock" : "unlock")
        }
    }

    private func makeCopy() throws {
        try lock(false)
        try withForeign { database in
            let target = try DatabaseQueue(path: folder + "/copy.sqlite")
            try database.backup(to: target)
            try target.close()
            copy = contents
            note("copy")
        }
    }

    /// Puts the copy in place of what the file has, as SQLite's own backup does.
    private func restore() throws {
        guard let copy else { return }
        try lock(false)
        try withForeign { database in
            let source = try DatabaseQueue(path: folder + "/copy.sqlite")
            try source.backup(to: database)
            try source.close()
            goBack(copy)
            note("restore")
        }
    }

    /// Puts the copy where the file was, which is removed with all that belongs to it.
    private func replace() throws {
        guard let copy else { return }
        try lock(false)
        foreign = nil
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
        try FileManager.default.copyItem(atPath: folder + "/copy.sqlite", toPath: path)
        goBack(copy)
        note("replace")
    }

    private func goBack(_ copy: Contents) {
        contents = copy
        for process in processes {
            // If the process has written nothing since the copy, it goes on with it as if nothing had happened.
            for (name, text) in process.unwritten { contents.heard[name, default: []].insert(text) }
            process.fileWentBack()
        }
    }

    /// Somebody removes a durable name, which begins again with what is stored.
    private func removeName() throws {
        try lock(false)
        let name = Self.names.randomElement(using: &random)!
        try withForeign { database in
            try database.write {
                try $0.execute(sql: "DELETE FROM channels_consumers WHERE name = ?", arguments: [name])
            }
            // What is stored may be removed now, until somebody enters it again.
            contents.names.remove(name)
            (contents.stored[name], contents.settled[name], contents.heard[name]) = ([], [], [])
            for process in processes { process.nameIsGone(name) }
            note("remove \(name)")
        }
    }

    // MARK: Looking at the end of it

    /// Mends what is broken, and lets the processes run until nothing is left to be done. Then compares.
    func settle() throws {
        try lock(false)
        (failingCommits, failingReads) = (0, 0)
        foreign = nil
        note("settle")
        for process in processes {
            process.isStopped = false
        }
        var quiet = 0
        for _ in 0..<400 where quiet < 3 {
            let before = processes.map(\.activity)
            for process in processes {
                // It may have been about to end.
                process.start()
                process.subscribeToAll()
                process.settleAll()
                process.turn()
            }
            // After two seconds, a file that was replaced is noticed, and what was to be tried again has been.
            quiet = processes.map(\.activity) == before && processes.allSatisfy(\.isIdle) ? quiet + 1 : 0
            advance(quiet > 0 ? .seconds(3) : .milliseconds(100))
        }
        for process in processes where !process.isIdle { fail("\(process.place) waits for ever: \(process.state)") }
        try compare()
        try storeAtRest()
    }

    /// While all are at rest, one stores a value, and a lock keeps the others from reading it at first. Nobody commits
    /// anything after that: only a look that is repeated finds the value, unless retention happens to be due.
    private func storeAtRest() throws {
        (readError, failingReads) = (.SQLITE_BUSY, Int.random(in: 0...3, using: &random))
        note("store at rest, \(failingReads) reads fail")
        processes.randomElement(using: &random)!.store()
        for _ in 0..<20 {
            for process in processes { process.turn() }
            advance(.milliseconds(100))
        }
        failingReads = 0
        try compare()
    }

    private func compare() throws {
        for name in Self.names {
            let missing = contents.stored[name, default: []].subtracting(contents.heard[name] ?? [])
            if !missing.isEmpty { fail("\(name) has not heard \(missing.sorted())") }
            contents.settled[name] = contents.heard[name]
            contents.names.insert(name)
        }
        for process in processes {
            if let value = contents.value, let seen = process.value, seen != value {
                fail("\(process.place) has the state \(seen), stored was \(value)")
            }
        }
        let left = try DatabaseQueue(path: path).read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM channels_unsettled").map { "\($0)" }
        }
        if !left.isEmpty { fail("not settled: \(left)") }
    }

    /// All processes end; nothing of them is left.
    func end() throws {
        try settle()
        for process in processes { process.close() }
        for _ in 0..<10 {
            for process in processes { process.turn() }
            advance(.seconds(1))
        }
        for process in processes where process.isRunning { fail("\(process.place) does not end") }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let left = files.filter { $0 != "history.sqlite" && !$0.hasPrefix("copy.sqlite") }
        if !left.isEmpty { fail("left behind: \(left)") }
        let result = try DatabaseQueue(path: path).read { try String.fetchOne($0, sql: "PRAGMA integrity_check") }
        if result != "ok" { fail("integrity: \(result ?? "")") }
    }
}
#endif
