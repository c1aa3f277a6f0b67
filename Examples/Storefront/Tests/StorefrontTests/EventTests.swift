import Channels
import ChannelsTesting
import Testing

@testable import Storefront

/// A page receives the state at once and then every change, even if changes happen concurrently.
struct EventTests {
    @Test func everyTabSeesEveryChangeOnceAndInOrder() async throws {
        try await withShop { shop, port async throws in
            var tabs: [Tab] = []
            for number in 1...60 {
                // Tabs are opened while sales go on.
                if number % 12 == 1 { tabs.append(try await Tab(port)) }
                await shop.board[.rung].postAndWait(.test("s\(number)"))
            }
            for tab in tabs {
                let heard = await tab.wait(forSales: 60)
                #expect(heard.missed == 0)
                let versions = heard.states.map(\.version)
                // Consecutive: no gap, no repeat.
                #expect(zip(versions, versions.dropFirst()).allSatisfy { $0 + 1 == $1 })
                #expect(heard.states.last?.takings == 60_000)
                #expect(heard.states.last?.recent.map(\.number) == Array((53...60).reversed()))
            }
        }
    }

    @Test func tabThatComesBackIsToldWhatItMissedAndGetsTheStateAsItIs() async throws {
        try await withShop { shop, port async throws in
            let tab = try await Tab(port)
            await shop.board[.rung].postAndWait(.test("s1"))
            let before = await tab.wait(forSales: 1)
            tab.connection.close()
            for number in 2...9 { await shop.board[.rung].postAndWait(.test("s\(number)")) }

            let again = try await Tab(port, last: before.id)
            let heard = await again.wait(forSales: 9)
            let seen = try #require(before.states.last?.version)
            let first = try #require(heard.states.first?.version)
            #expect(first > seen)
            // Before the first state, it is told how many it missed. None is missing after that.
            #expect(heard.missed == first - seen - 1)
            #expect(heard.states.last?.sales == 9)
        }
    }

    @Test func idThatNobodyWasGivenIsAsGoodAsNone() async throws {
        try await withShop { shop, port in
            await shop.board[.rung].postAndWait(.test("s1"))
            let run = await (try Tab(port)).wait(forSales: 1).id.split(separator: ".")[0]
            let others = ["other.1", "", ".", "1", "x.y.z", "other.99999999999999999999"]
            for id in others + ["\(run).-9223372036854775808", "\(run).9223372036854775807", "\(run).x"] {
                let heard = await (try Tab(port, last: id)).wait(forSales: 1)
                #expect(heard.missed == 0 && heard.states.last?.sales == 1)
            }
        }
    }

    @Test func slowTabSlowsNobodyDownAndIsToldHowMuchItMissed() async throws {
        try await withShop { shop, port async throws in
            let slow = try await Tab(port)
            let first = try #require(await slow.wait(forSales: 0).states.first)
            try await slow.connection.reads(false)
            let quick = try await Tab(port)
            let office = shop.board.state(.office, initial: Office())
            // This is more than fits into all buffers on the way. The quick tab keeps up.
            for _ in 1...60 {
                for _ in 1...50 { office.update { $0.hold() } }
                let version = office.value.version
                await quick.connection.wait { $0.contains("\"version\":\(version)}") }
            }
            await shop.board[.rung].postAndWait(.test("s1"))
            #expect(await quick.wait(forSales: 1).missed == 0)

            try await slow.connection.reads(true)
            let heard = await slow.wait(forSales: 1)
            let last = try #require(heard.states.last)
            #expect(heard.missed > 0 && last.sales == 1)
            // What it saw and what it was told it had missed add up to all versions.
            #expect(first.version + heard.states.count - 1 + heard.missed == last.version)
        }
    }

    @Test func pagesAreBoundedAndAClosedOneMakesRoom() async throws {
        try await withShop { _, port async throws in
            var tabs: [Tab] = []
            for _ in 1...PageEvents.pagesAtMost { tabs.append(try await Tab(port)) }
            let refused = try await request(port, "GET", "/events")
            #expect(refused.status == 503 && refused.body.contains("close one"))
            tabs.removeLast().connection.close()
            var status = 503
            // The server soon notices that the tab was closed, but maybe not yet.
            while status == 503 {
                let tab = try await Tab(port)
                status = try Answer(tab.connection.text).status
            }
            #expect(status == 200)
        }
    }

    @Test func hostileNamesArriveAsTheyAre() async throws {
        try await withShop { shop, port async throws in
            let tab = try await Tab(port)
            let name = #"</script><img src=x onerror=alert(1)>&'"#
            let sale = Sale(id: "s1", name: name, menu: .lunch, guests: 1, bill: 1, tip: 0)
            await shop.board[.rung].postAndWait(sale)
            #expect(await tab.wait(forSales: 1).states.last?.recent.first?.sale.name == name)
        }
    }
}
