import Channels
import ChannelsTesting
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import Storefront

/// Each role alone on its own switchboard. Those it exchanges messages with need not be there.
struct RoleTests {
    private let logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }()

    @Test func ledgerBooksInTheOrderPostedAndEachSaleOnce() async throws {
        try await withDirectory { directory in
            let store = try LedgerStore(directory: directory)
            try await withSwitchboard { board in
                let ledger = try Ledger(store, on: board)
                let booked = Recorder(of: board[.booked])
                let sales = (1...20).map { Sale.test("s\($0)") }
                for sale in sales + sales { board[.rung].post(sale) }
                let report = await board[.rung].postAndWait(sales[0])
                #expect(report.isComplete)
                let heard = try await booked.next(20, timeout: .seconds(10))
                #expect(heard.map(\.sale) == sales)
                #expect(heard.map(\.number) == Array(1...20))
                #expect(booked.count == 20)
                #expect(board.state(.office, initial: Office()).value.sales == 20)
                withExtendedLifetime(ledger) {}
            }
        }
    }

    @Test func fraudCheckStopsASaleBeforeTheLedgerHearsOfIt() async throws {
        try await withSwitchboard { [logger] board in
            let check = FraudCheck(on: board, logger: logger)
            let rung = Recorder(of: board[.rung])
            let report = await board[.rung].postAndWait(.test("s1", bill: 100, tip: 101))
            #expect(report.reachedCount == 0)
            #expect(rung.count == 0)
            #expect(board.state(.office, initial: Office()).value.held == 1)
            await board[.rung].postAndWait(.test("s2", bill: 100, tip: 100))
            #expect(rung.takeAll().map(\.id) == ["s2"])
            withExtendedLifetime(check) {}
        }
    }

    @Test func stockKeeperReordersBeforeAMenuRunsOut() async throws {
        try await withSwitchboard { [logger] board in
            let keeper = StockKeeper(on: board, logger: logger)
            for number in 1...200 {
                await board[.booked].postAndWait(Booking(number: number, sale: .test("s\(number)", guests: 3)))
                let shelf = board.state(.office, initial: Office()).value.stock.shelves[0]
                #expect(shelf.left == Stock.full - 3 * number + Stock.full * shelf.reorders)
                #expect(shelf.left >= 40)
            }
            withExtendedLifetime(keeper) {}
        }
    }

    @Test(arguments: [1, 7, 40, 1_000])
    func stockFollowsFromWhatWasServed(guests: Int) {
        var oneByOne = Stock()
        var atOnce = Stock()
        for _ in 1...50 { oneByOne.serve(.dinner, guests) }
        atOnce.serve(.dinner, 50 * guests)
        #expect(oneByOne == atOnce)
    }

    @Test func receiptsAreMailedInOrderAndTriedAgain() async throws {
        let postman = TestPostman(failures: 2)
        try await withMailQueue(postman) { board, ledger in
            for number in 1...30 { await board[.rung].postAndWait(.test("s\(number)")) }
            _ = try await postman.sent.next(30, timeout: .seconds(30))
            withExtendedLifetime(ledger) {}
        }
        #expect(postman.numbers == Array(1...30))
    }

    @Test func receiptsThatWereDueAreMailedAfterTheNextStart() async throws {
        let postman = TestPostman()
        try await withMailQueue(postman, booked: ["s1", "s2", "s3"]) { _, _ in
            _ = try await postman.sent.next(3, timeout: .seconds(30))
        }
        #expect(postman.numbers == [1, 2, 3])
    }

    @Test func slowPostmanKeepsNobodyWaiting() async throws {
        let gate = Gate()
        let postman = TestPostman(gate: gate)
        try await withMailQueue(postman) { board, ledger in
            for number in 1...100 {
                let report = await board[.rung].postAndWait(.test("s\(number)"))
                #expect(report.isComplete)
            }
            #expect(postman.numbers.isEmpty)
            gate.open()
            _ = try await postman.sent.next(100, timeout: .seconds(30))
            withExtendedLifetime(ledger) {}
        }
    }

    @Test func feedBeginsBehindWhatIsInTheLedger() async throws {
        try await withSwitchboard { [logger] board in
            board.state(.billsBooked, initial: nil).set(17)
            let rung = Recorder(of: board[.rung])
            let feed = Feed(board: board, bills: try Bills(), rate: 1_000, logger: logger)
            let group = ServiceGroup(configuration: .init(services: [feed], logger: logger))
            async let running: Void = group.run()
            let ids = try await rung.next(300, timeout: .seconds(30)).map(\.id)
            #expect(ids == (18...317).map { "bill-\($0)" })
            await group.triggerGracefulShutdown()
            try await running
        }
    }

    @Test func oneRoundOfTheFeedIsWhatTheRestaurantTook() throws {
        let bills = try Bills()
        let round = (1...244).map { bills[$0] }
        #expect(round.map(\.bill).reduce(0, +) == 482_777)
        #expect(round.map(\.tip).reduce(0, +) == 73_158)
        #expect(round.map(\.guests).reduce(0, +) == 627)
        #expect(bills[245].bill == bills[1].bill && bills[245].id != bills[1].id)
    }

    private func withMailQueue(
        _ postman: TestPostman,
        booked: [String] = [],
        _ body: (Switchboard, Ledger) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let store = try LedgerStore(directory: directory)
            let board = Switchboard()
            for id in booked { _ = try await store.book(.test(id), on: board) }
            let ledger = try Ledger(store, on: board)
            let mail = try MailQueue(store, postman, on: board, logger: logger)
            let group = ServiceGroup(configuration: .init(services: [mail], logger: logger))
            async let running: Void = group.run()
            try await body(board, ledger)
            await group.triggerGracefulShutdown()
            try await running
            let office = try store.office()
            #expect(office.mailed == office.sales)
        }
    }
}

/// A postman that fails at first, or waits at a gate.
private final class TestPostman: Postman {
    struct NoPost: Error {}

    let sent = Recorder<Int>()
    private let gate: Gate?
    private let state: Mutex<(failures: Int, numbers: [Int])>

    init(failures: Int = 0, gate: Gate? = nil) {
        self.gate = gate
        state = Mutex((failures, []))
    }

    var numbers: [Int] { state.withLock { $0.numbers } }

    func send(_ receipt: Booking) async throws {
        await gate?.wait()
        try state.withLock { state in
            state.failures -= 1
            if state.failures >= 0 { throw NoPost() }
            state.numbers.append(receipt.number)
        }
        sent.record(receipt.number)
    }
}
