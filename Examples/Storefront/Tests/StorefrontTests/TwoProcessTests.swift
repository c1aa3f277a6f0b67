import ChannelsTesting
import Foundation
import GRDB
import Testing

@testable import Storefront

/// The feed in one process and the page in another, over a file or a real nats-server.
struct TwoProcessTests {
    @Test(.timeLimit(.minutes(5)))
    func everyBillIsBookedOnceAndInOrderOverAFileWhicheverProcessIsKilled() async throws {
        try await withDirectory { directory in
            try await killInTurn(directory + "/office", ["--file", directory + "/shop.sqlite"])
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func salesWaitInTheFileWhileThereIsNoOffice() async throws {
        try await withDirectory { directory in
            let (data, file) = (directory + "/office", directory + "/shop.sqlite")
            let office = try await RunningProcess(data, ["--file", file, "--role", "office"])
            var till = try await startTill(["--file", file])
            _ = await (try Tab(office.port)).wait(forSales: 20)
            try await office.process.kill()
            try await till.kill()
            // It begins without an office, at the last number that the file knows.
            let before = try storedSales(file)
            till = try await startTill(["--file", file])
            while try storedSales(file) < before + 100 { try await Task.sleep(for: .milliseconds(20)) }
            try await till.kill()
            let waiting = try billsRung(file)
            let next = try await RunningProcess(data, ["--file", file, "--role", "office"])
            _ = await (try Tab(next.port)).wait(forSales: waiting)
            #expect(try await next.process.terminate() == "0")
            #expect(try ledger(data) == (1...waiting).map { "bill-\($0)" })
        }
    }

    #if NATS
    @Test(.timeLimit(.minutes(5)))
    func everyBillIsBookedOnceAndInOrderOverNATSWhicheverProcessIsKilled() async throws {
        try await withDirectory { directory in
            let server = try await Server(directory + "/nats")
            try await killInTurn(directory + "/office", ["--nats", server.url])
        }
    }
    #endif

    /// Kills the office and the till in turn, and looks at what was booked.
    private func killInTurn(_ data: String, _ link: [String]) async throws {
        let officeArguments = link + ["--role", "office"]
        var office = try await RunningProcess(data, officeArguments)
        var till = try await startTill(link)
        var sales = 0
        for round in 1...5 {
            let heard = await (try Tab(office.port)).wait(forSales: sales + 60)
            sales = try #require(heard.states.last).sales
            if round.isMultiple(of: 2) {
                try await till.kill()
                till = try await startTill(link)
            } else {
                try await office.process.kill()
                office = try await RunningProcess(data, officeArguments)
            }
        }
        _ = await (try Tab(office.port)).wait(forSales: sales + 60)
        #expect(try await till.terminate() == "0")
        #expect(try await office.process.terminate() == "0")
        let booked = try ledger(data)
        #expect(booked.count >= sales + 60)
        #expect(booked == (1...booked.count).map { "bill-\($0)" })
    }

    private func startTill(_ link: [String]) async throws -> ChildProcess {
        let till = try await ChildProcess(RunningProcess.program, link + ["--role", "till", "--rate", "200"])
        _ = try await till.line("The till")
        return till
    }

    /// How many sales the file has stored, those that were rung up twice counted twice.
    private func storedSales(_ file: String) throws -> Int {
        try open(file).read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM channels_messages WHERE subject = 'till.rung'") ?? 0
        }
    }

    /// How many different ones.
    private func billsRung(_ file: String) throws -> Int {
        try open(file).read { db in
            let bodies = try Data.fetchAll(db, sql: "SELECT body FROM channels_messages WHERE subject = 'till.rung'")
            return Set(try bodies.map { try JSONDecoder().decode(Sale.self, from: $0).id }).count
        }
    }

    private func open(_ file: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: file, configuration: configuration)
    }
}

#if NATS
/// A nats-server on a free port, with JetStream.
private struct Server {
    let process: ChildProcess
    let url: String

    init(_ directory: String) async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        process = try await ChildProcess(
            "/usr/bin/env",
            ["nats-server", "--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir", directory]
        )
        let lines = await process.lines.wait { lines in
            lines.last == "" || lines.contains { $0.contains("Server is ready") }
        }
        let listening = "Listening for client connections on "
        let line = try #require(lines.first { $0.contains(listening) })
        url = "nats://" + line.components(separatedBy: listening)[1]
    }
}
#endif
