import ChannelsTesting
import Foundation
import Testing

@testable import Storefront

/// Runs the feed in one process and the page in another.
struct TwoProcessTests {
    @Test(.timeLimit(.minutes(3)))
    func everyBillIsBookedOnceAndInOrderOverAFileWhicheverProcessIsKilled() async throws {
        try await withDirectory { directory in try await run(in: directory, []) }
    }

    #if NATS
    /// Over a real nats-server.
    @Test(.timeLimit(.minutes(3)))
    func everyBillIsBookedOnceAndInOrderWhicheverProcessIsKilled() async throws {
        try await withDirectory { directory in
            let server = try await Server(directory + "/nats")
            try await run(in: directory, ["--nats", server.url])
        }
    }
    #endif

    private func run(in directory: String, _ transport: [String]) async throws {
        let data = directory + "/office"
        let officeArguments = transport + ["--role", "office"]
        let tillArguments = transport + ["--data", data, "--role", "till", "--rate", "200"]
        var office = try await RunningProcess(data, officeArguments)
        var till = try await ChildProcess(RunningProcess.program, tillArguments)
        _ = try await till.line("The till")
        var sales = 0
        for round in 1...5 {
            let heard = await (try Tab(office.port)).wait(forSales: sales + 60)
            sales = try #require(heard.states.last).sales
            if round.isMultiple(of: 2) {
                try await till.kill()
                till = try await ChildProcess(RunningProcess.program, tillArguments)
                _ = try await till.line("The till")
            } else {
                try await office.process.kill()
                office = try await RunningProcess(data, officeArguments)
            }
        }
        _ = await (try Tab(office.port)).wait(forSales: sales + 60)
        #expect(try await till.terminate() == "0")
        #expect(try await office.process.terminate() == "0")
        let booked = try ledger(data)
        #expect(booked == (1...booked.count).map { "bill-\($0)" })
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
