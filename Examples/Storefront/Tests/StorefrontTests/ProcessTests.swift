import ChannelsTesting
import Foundation
import GRDB
import Testing

@testable import Storefront

/// The program as a process that is started, killed and ended.
struct ProcessTests {
    /// Sales are rung up one after another, each until it is acknowledged. Meanwhile, the program is killed
    /// again and again.
    @Test(.timeLimit(.minutes(3)))
    func everySaleIsBookedOnceAndInOrderHoweverOftenTheProgramIsKilled() async throws {
        try await withDirectory { directory in
            var shop = try await RunningProcess(directory, ["--rate", "0"])
            let ids = (1...120).map { "s\($0)" }
            for (index, id) in ids.enumerated() {
                if index % 20 == 19 {
                    // The program is killed in the middle of a sale, which is sent again to the next process.
                    let port = shop.port
                    async let unanswered = try? postSale(port, Sale.test(id).json)
                    try await shop.process.kill()
                    _ = await unanswered
                    shop = try await RunningProcess(directory, ["--rate", "0"])
                }
                let answer = try await postSale(shop.port, Sale.test(id).json)
                #expect(answer.status == 201)
            }
            let heard = await (try Tab(shop.port)).wait(forSales: ids.count)
            #expect(heard.states.last?.sales == ids.count)
            try await shop.process.kill()
            #expect(try ledger(directory) == ids)
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func sigtermLosesNothingThatWasAcknowledged() async throws {
        try await withDirectory { directory in
            let shop = try await RunningProcess(directory, ["--rate", "500"])
            let tab = try await Tab(shop.port)
            _ = await tab.wait(forSales: 100)
            let answered = Recorder<String>()
            let acknowledged = try await withThrowingTaskGroup(of: [String].self) { tasks in
                for till in 1...4 {
                    tasks.addTask {
                        var acknowledged: [String] = []
                        // Rings up sales until nobody answers any more.
                        for number in 1... {
                            let id = "till\(till)-\(number)"
                            let answer = try? await postSale(shop.port, Sale.test(id).json)
                            guard answer?.status == 201 else { break }
                            acknowledged.append(id)
                            answered.record(id)
                        }
                        return acknowledged
                    }
                }
                // The program ends in the middle of the tills' sales, but not before the first.
                _ = try await answered.next(20, timeout: .seconds(60))
                #expect(try await shop.process.terminate() == "0")
                return try await tasks.reduce(into: []) { $0 += $1 }
            }
            // The stream ended with the program, but not in the middle of an event.
            #expect(await tab.connection.waitForEnd().hasSuffix("0\r\n\r\n"))
            let booked = try ledger(directory)
            #expect(Set(booked).count == booked.count)
            #expect(!acknowledged.isEmpty && Set(acknowledged).isSubset(of: booked))
            // The feed is booked without a gap, and continues where it was.
            let bills = booked.filter { $0.hasPrefix("bill-") }
            #expect(bills == (1...bills.count).map { "bill-\($0)" })
            let next = try await RunningProcess(directory, ["--rate", "500"])
            _ = await (try Tab(next.port)).wait(forSales: booked.count + 10)
            #expect(try await next.process.terminate() == "0")
            let later = try ledger(directory).filter { $0.hasPrefix("bill-") }
            #expect(later.count > bills.count && later == (1...later.count).map { "bill-\($0)" })
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func inspectorShowsWhatIsSaidAndEndsWithTheProgramHoweverManyPagesAreOpen() async throws {
        try await withDirectory { directory in
            let shop = try await RunningProcess(directory, ["--rate", "50", "--inspector", "0"])
            let address = try await shop.process.line("Inspector: http://127.0.0.1:")
            let port = try #require(Int(address.dropLast()))
            let page = try await request(port, "GET", "/")
            #expect(page.status == 200 && page.body.contains("<title>Channels</title>"))
            let picture = try await request(port, "GET", "/picture.json")
            #expect(picture.body.contains("office.booked") && picture.body.contains("StockKeeper"))
            let (inspecting, tab) = (try await Connection(port), try await Tab(shop.port))
            try await inspecting.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            await inspecting.wait(for: "till.rung")
            _ = await tab.wait(forSales: 10)
            // A connection kept open for another request, a silent one, and one that reads nothing.
            let (kept, silent, slow) = (
                try await Connection(port), try await Connection(port), try await Connection(port)
            )
            try await kept.send("GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            await kept.wait(for: "</svg>")
            try await slow.reads(false)
            try await slow.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            #expect(try await shop.process.terminate() == "0")
            #expect(await inspecting.waitForEnd().hasSuffix("0\r\n\r\n"))
            withExtendedLifetime(silent) {}
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func portThatIsTakenEndsTheProgram() async throws {
        try await withDirectory { directory in
            let first = try await RunningProcess(directory + "/first", ["--rate", "0"])
            let arguments = ["--port", "\(first.port)", "--data", directory + "/second", "--rate", "100"]
            let second = try await ChildProcess(RunningProcess.program, arguments)
            #expect(try await second.line("ended with ") != "0")
            #expect(second.lines.all.contains { $0.contains("in use") })
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func secondProgramIsRefusedTheSameLedger() async throws {
        try await withDirectory { directory in
            let first = try await RunningProcess(directory, [])
            let second = try await ChildProcess(RunningProcess.program, ["--port", "0", "--data", directory])
            #expect(try await second.line("ended with ") != "0")
            #expect(second.lines.all.contains { $0.contains("locked") })
            withExtendedLifetime(first) {}
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ["--port", "70000"], ["--rate", "-1"], ["--rate", "nan"], ["--nats", "nats://127.0.0.1:4222"],
            ["--role", "cook"],
        ]
    )
    func wrongArgumentsAreRefusedInWords(arguments: [String]) async throws {
        let process = try await ChildProcess(RunningProcess.program, arguments)
        #expect(try await process.line("ended with ") == "64")
        #expect(process.lines.all.contains { $0.hasPrefix("Error: ") })
    }

    #if !NATS
    @Test func natsWithoutTheTraitSaysHowToEnableIt() async throws {
        let arguments = ["--nats", "nats://127.0.0.1:4222", "--role", "till"]
        let process = try await ChildProcess(RunningProcess.program, arguments)
        #expect(try await process.line("ended with ") == "1")
        #expect(process.lines.all.contains { $0.contains("--traits NATS") })
    }
    #endif
}

/// The program on a free port.
struct RunningProcess {
    let process: ChildProcess
    let port: Int

    init(_ directory: String, _ arguments: [String]) async throws {
        process = try await ChildProcess(Self.program, ["--port", "0", "--data", directory] + arguments)
        let address = try await process.line("Storefront is at http://127.0.0.1:")
        port = try #require(Int(address.dropLast()))
    }

    /// The program that was built next to the tests, where its resources are.
    static var program: String {
        Asset.directory.deletingLastPathComponent().appending(path: "Storefront").path
    }
}

/// Returns the ids in the ledger of a directory, in order. Nobody else may have it open.
func ledger(_ directory: String) throws -> [String] {
    try DatabaseQueue(path: directory + "/ledger.sqlite").read { db in
        try String.fetchAll(db, sql: "SELECT id FROM sales ORDER BY number")
    }
}
