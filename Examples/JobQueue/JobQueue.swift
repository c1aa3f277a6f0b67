import ArgumentParser
import Channels
import ChannelsBridge
import ChannelsObservability
import ChannelsSQLite
import Foundation
import GRDB
import Logging
import ServiceLifecycle

/// Counts the words of texts in any number of processes, and records each result exactly once.
@main
struct JobQueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A job queue in a file.",
        subcommands: [Submit.self, Work.self, List.self]
    )
}

struct Job: Codable, Sendable, FetchableRecord, PersistableRecord {
    var id: String
    var text: String
    /// The number of words; nil until a worker has counted them.
    var words: Int?
    var worker: Int32?
}

extension ChannelName<Job> {
    static var submitted: Self { "jobs.submitted" }
}

/// The table of jobs, in the same file as the messages.
struct Jobs {
    let database: DatabasePool

    init(_ file: String) throws {
        var configuration = Configuration()
        // Other processes write to the file as well.
        configuration.busyMode = .timeout(10)
        database = try DatabasePool(path: file, configuration: configuration)
        // A commit is on disk when it returns.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        var migrator = DatabaseMigrator()
        migrator.registerMigration("jobs") { db in
            try db.create(table: "job") { table in
                table.primaryKey("id", .text)
                table.column("text", .text).notNull()
                table.column("words", .integer)
                table.column("worker", .integer)
            }
        }
        try migrator.migrate(database)
    }
}

struct Place: ParsableArguments {
    @Option(help: "Where the jobs are kept.")
    var file = "jobs.sqlite"
}

/// Stores jobs. This needs neither a bridge nor a running worker.
struct Submit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Store texts whose words are to be counted.")

    @OptionGroup var place: Place
    @Argument var texts: [String]

    func run() async throws {
        let board = Switchboard()
        let database = try Jobs(place.file).database
        for text in texts {
            let job = Job(id: UUID().uuidString, text: text)
            // The job and its message are stored together, or not at all.
            try await database.write { db in
                try job.insert(db)
                try board[.submitted].post(job, in: db)
            }
        }
    }
}

/// Handles one job after another, until SIGTERM or SIGINT. Run as many as you like, and kill any of them.
struct Work: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Count the words of texts as they come.")

    @OptionGroup var place: Place
    @Option(help: "How long a job takes, in milliseconds.")
    var pause = 0

    struct NoWords: Error {}

    func run() async throws {
        let logger = Logger(label: "worker")
        let board = Switchboard(onFault: { _ in })
        let log = board.addInstrument(FaultLog(logger))
        let database = try Jobs(place.file).database
        let bridge = Bridge(
            "workers",
            switchboard: board,
            transport: SQLiteTransport(path: place.file),
            routes: [.incoming(.submitted, durable: true)],
            // Jobs take long, so no worker should hold many. A job that fails five times becomes a dead
            // letter, which `channels dead list` shows.
            configuration: BridgeConfiguration(prefetchLimit: 4, failureLimit: 5)
        )
        board[.submitted].posts.listen(board) { [pause] _, post in
            var job = post.message
            job.words = job.text.split(separator: " ").count
            job.worker = ProcessInfo.processInfo.processIdentifier
            try await Task.sleep(for: .milliseconds(pause))
            guard job.words != 0 else { throw NoWords() }
            // The result is stored and the message is settled together, or neither is.
            try await database.write { [job] db in
                try job.update(db)
                try post.settle(in: db)
            }
        }
        let group = ServiceGroup(
            services: [BridgeService(bridge)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        try await group.run()
        withExtendedLifetime(log) {}
    }
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the jobs, with who has done them.")

    @OptionGroup var place: Place

    func run() async throws {
        for job in try await Jobs(place.file).database.read({ try Job.fetchAll($0) }) {
            print(job.words.map(String.init) ?? "-", job.worker.map(String.init) ?? "-", job.text, separator: "\t")
        }
    }
}
