import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// Processes that share messages, and subjects that are kept apart.
@Suite(.hangLimit)
struct GroupTests {
    private let broker = InMemoryBroker()

    @Test func eachMessageGoesToOneOfAGroupAndToAllOthers() async throws {
        let heard = Recorder<(process: String, total: Int)>()
        var workers: [MiniProcess] = []
        var tokens: [ListenerToken] = []
        for (name, group) in [("a", "books"), ("b", "books"), ("c", "other"), ("d", nil)] {
            let route: BridgeRoute = .incoming(.sold)
            let worker = await MiniProcess(name, InMemoryTransport(broker), [group.map(route.inGroup) ?? route])
            workers.append(worker)
            tokens.append(worker.board[.sold].listen { sale in heard.record((name, sale.total)) })
        }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        for total in 0..<100 { till.board[.sold].post(Sale(total: total)) }
        let all = await heard.first(300)
        func totals(_ names: String...) -> [Int] { all.filter { names.contains($0.process) }.map(\.total).sorted() }
        #expect(totals("a", "b") == Array(0..<100))
        #expect(!totals("a").isEmpty && !totals("b").isEmpty)
        #expect(totals("c") == Array(0..<100) && totals("d") == Array(0..<100))
        for process in workers + [till] { try await process.stop() }
        withExtendedLifetime(tokens) {}
    }

    /// Of two routes of one group that match, the broker chooses one: what that one gets, it delivers.
    @Test func routesOfOneGroupThatOverlapLoseNothing() async throws {
        let worker = await MiniProcess(
            "worker",
            InMemoryTransport(broker),
            [
                .incoming(.sold).inGroup("books"),
                .incoming(matching: "shop.*", of: Sale.self).inGroup("books"),
            ]
        )
        let (heard, token) = worker.recorder(.sold)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        for total in 0..<50 { till.board[.sold].post(Sale(total: total)) }
        #expect(await heard.first(50).map(\.total).sorted() == Array(0..<50))
        try await till.stop()
        try await worker.stop()
        #expect(worker.bridge.statistics.received == 50)
        withExtendedLifetime(token) {}
    }

    /// The broker shares the messages of a durable name between all who ask for them, so only one route may.
    @Test(arguments: [false, true]) func aDurableRouteThatIsThereTwiceLosesNothing(saysItsName: Bool) async throws {
        let second: BridgeRoute = .incoming(.sold, durable: true)
        let routes: [BridgeRoute] = [.both(.sold, durable: true), saysItsName ? second.inGroup("worker") : second]
        let worker = await MiniProcess("worker", InMemoryTransport(broker), routes)
        let (heard, token) = worker.recorder(.sold)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold, durable: true)])
        for total in 0..<50 { till.board[.sold].post(Sale(total: total)) }
        #expect(await heard.first(50).map(\.total) == Array(0..<50))
        try await till.stop()
        try await worker.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aDurableRouteMayHaveAGroupOfItsOwn() async throws {
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold, durable: true)])
        let heard = Recorder<String>()
        var processes: [MiniProcess] = []
        var tokens: [ListenerToken] = []
        for name in ["first", "second"] {
            let process = await MiniProcess(
                name,
                InMemoryTransport(broker),
                [.incoming(.sold, durable: true).inGroup("books")]
            )
            tokens.append(process.board[.sold].listen { _ in heard.record(name) })
            processes.append(process)
        }
        for total in 0..<40 { #expect(await till.board[.sold].postAndWait(Sale(total: total)).isComplete) }
        #expect(Set(await heard.first(40)) == ["first", "second"])
        for process in processes + [till] { try await process.stop() }
        #expect(heard.count == 40)
        withExtendedLifetime(tokens) {}
    }

    /// It posts on one name, and receives its share on another.
    @Test(arguments: [true, false])
    func aProcessMayPostWorkAndDoItsShareOfIt(isDurable: Bool) async throws {
        let cooking: ChannelName<Sale> = "shop.cooking"
        var routes = [
            BridgeRoute.outgoing(.sold, durable: isDurable), .incoming(.sold, as: cooking, durable: isDurable),
        ]
        if !isDurable { routes[1] = routes[1].inGroup("workers") }
        let heard = Recorder<(worker: Int, post: Posted<Sale>)>()
        var workers: [MiniProcess] = []
        for number in 0..<2 {
            let worker = await MiniProcess("workers", InMemoryTransport(broker), routes)
            worker.board[cooking].posts.listen(worker.board) { _, post in heard.record((number, post)) }
            workers.append(worker)
        }
        let sold = workers[0].recorder(.sold)
        for total in 0..<200 { #expect(await workers[0].board[.sold].postAndWait(Sale(total: total)).isComplete) }
        let all = await heard.first(200)
        #expect(all.map(\.post.message.total).sorted() == Array(0..<200))
        #expect(Set(all.map(\.worker)) == [0, 1])
        #expect(all.allSatisfy { $0.post.delivery != nil && $0.post.channelName == "shop.cooking" })
        for worker in workers { try await worker.stop() }
        // Nothing is sent out again, and nothing comes back to the name on which it was posted.
        #expect(heard.count == 200 && sold.0.count == 200)
        #expect(
            workers.map(\.bridge.statistics.sent) == [200, 0] && workers.allSatisfy { $0.bridge.statistics.echoes == 0 }
        )
    }

    @Test func workThatItsOwnProcessRefusesComesAgain() async throws {
        let cooking: ChannelName<Sale> = "shop.cooking"
        let worker = await MiniProcess(
            "worker",
            InMemoryTransport(broker),
            [.outgoing(.sold, durable: true), .incoming(.sold, as: cooking, durable: true)]
        )
        let attempts = Recorder<Int>()
        worker.board[cooking].posts.listen(worker.board) { _, post in
            attempts.record(post.delivery?.attempt ?? 0)
            if attempts.count == 1 { throw Trouble() }
        }
        #expect(await worker.board[.sold].postAndWait(Sale(total: 1)).isComplete)
        #expect(await attempts.first(2) == [1, 2])
        try await worker.stop()
    }

    @Test func bridgesWithDifferentSubjectPrefixesDoNotHearEachOther() async throws {
        let routes: [BridgeRoute] = [
            .both(.sold), .both(.ordered, durable: true), .both(state: .lastSale, initial: Sale(total: 0)),
        ]
        func process(_ name: String, _ prefix: String, _ more: BridgeRoute) async -> MiniProcess {
            await MiniProcess(
                name,
                InMemoryTransport(broker),
                routes + [more],
                configuration: .quick.with { $0.subjectPrefix = prefix }
            )
        }
        let stagingTill = await process("till", "staging", .asking(.price))
        let staging = await process("kitchen", "staging", .answering(.price))
        let live = await process("kitchen", "live.eu", .answering(.price))
        let answering = staging.board.requests(.price).respond { _ in 7 }
        let (sales, salesToken) = staging.recorder(.sold)
        let (orders, ordersToken) = staging.recorder(.ordered)
        let (other, otherToken) = live.recorder(.sold)
        let wire = try await connectedTransport(broker)
        let subjects = Recorder<String>()
        try await wire.subscribe(to: ">") { subjects.record($0.message.subject) }
        stagingTill.board[.sold].post(Sale(total: 1))
        #expect(await stagingTill.board[.ordered].postAndWait(Order(dish: "soup")).isComplete)
        stagingTill.board.state(.lastSale, initial: Sale(total: 0)).set(Sale(total: 9))
        #expect(await sales.first(1) == [Sale(total: 1)])
        #expect(await orders.first(1) == [Order(dish: "soup")])
        #expect(try await stagingTill.board.requests(.price).ask("soup") == 7)
        _ = await staging.board.state(.lastSale, initial: Sale(total: 0)).first { $0.total == 9 }
        #expect(other.count == 0 && live.board.state(.lastSale, initial: Sale(total: 0)).value.total == 0)
        #expect(Set(subjects.all).isSuperset(of: ["staging.shop.sold", "staging.kitchen.ordered"]))
        for process in [stagingTill, staging, live] { try await process.stop() }
        try await wire.close(timeout: .seconds(1))
        withExtendedLifetime((salesToken, ordersToken, otherToken, answering)) {}
    }

    /// The dot behind the prefix and the mark are one character.
    @Test func aNameThatBeginsWithACombiningMarkIsHeardUnderIt() async throws {
        let name = "\u{301}orders"
        let process = await MiniProcess(
            "kitchen",
            InMemoryTransport(broker),
            [.incoming(matching: "*", of: Sale.self)],
            configuration: .quick.with { $0.subjectPrefix = "staging" }
        )
        let heard = Recorder<String?>()
        let token = process.board[matching: "*"].listen { heard.record($0.channelName) }
        let wire = try await connectedTransport(broker)
        try await wire.publish(
            TransportMessage(subject: "staging.\(name)", body: Array("{\"total\":1}".utf8)),
            durable: false
        )
        let names = await heard.first(1)
        #expect(names.first??.unicodeScalars.elementsEqual(name.unicodeScalars) == true, "\(names)")
        try await process.stop()
        try await wire.close(timeout: .seconds(1))
        withExtendedLifetime(token) {}
    }

    @Test func aNameTooLongWithItsPrefixFailsThePost() async throws {
        let name = try ChannelName<Sale>(validating: String(repeating: "n", count: 1_020))
        let till = await MiniProcess(
            "till",
            InMemoryTransport(broker),
            [.outgoing(name)],
            configuration: .quick.with { $0.subjectPrefix = "staging" }
        )
        let report = await till.board[name].postAndWait(Sale(total: 1))
        #expect((report.failures.first?.error as? BridgeError)?.code == .invalidName)
        try await till.stop()
    }
}
