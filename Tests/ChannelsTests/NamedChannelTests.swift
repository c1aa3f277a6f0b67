import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Testing

/// Channels of a name and of a type of messages, as a switchboard hands them out.
struct NamedChannelTests {
    @Test func aNamedChannelKeepsNoneAliveAndCountingCreatesNone() {
        let board = Switchboard()
        let named = board["unused" as ChannelName<Int>]
        let pattern = board[matching: ">"].listen { _ in }
        #expect(named.listenerCount == 0 && named.isEmpty)
        named.removeListeners(of: board)
        #expect(named.post(1) == 1, "the pattern's")
        #expect(board.snapshot().channels.isEmpty)
        weak let channel = named.channel
        #expect(channel == nil)
        let token = named.listen { _ in }
        #expect(named.listenerCount == 2 && named.name == "unused")
        #expect(named.channel === board.channel("unused" as ChannelName<Int>))
        token.cancel()
        let interceptor = named.intercept { _ in .stop }
        #expect(named.post(1) == 0, "an interceptor keeps the channel")
        interceptor.cancel()
        #expect(board.snapshot().channels.isEmpty)
        withExtendedLifetime(pattern) {}
    }

    @Test func aNamedChannelHoldsItsSwitchboard() {
        var board: Switchboard? = Switchboard()
        weak let watched = board
        var named = board.map { $0["held" as ChannelName<Int>] }
        board = nil
        #expect(watched != nil && named?.post(1) == 0)
        named = nil
        #expect(watched == nil)
    }

    @Test func postAndWaitByNameKeepsNothingWhereNobodyListens() async {
        let board = Switchboard()
        let name: ChannelName<Void> = "shop.opened"
        let calls = Tally()
        let token = board[name].posts.listen { (_: Posted<Void>) async in calls.add() }
        #expect(await board[name].postAndWait().completedCount == 1 && calls.value == 1)
        token.cancel()
        #expect(await board[name].postAndWait().reachedCount == 0)
        #expect(board.snapshot().channels.isEmpty)
    }

    @Test func aTypeOfMessagesHasOneChannelWithoutAName() {
        let board = Switchboard()
        let posts = Recorder<Posted<String>>()
        let overheard = Recorder(of: board[matching: ">"])
        let token = board[String.self].posts.listen { posts.record($0) }
        #expect(board[String.self].channel === board[String.self].channel)
        #expect(board[String.self].post("one") == 1)
        #expect(board[[String].self].post(["two"]) == 0)
        #expect(posts.all.map(\.message) == ["one"])
        #expect(posts.all.first?.channelName == nil)
        #expect(board[String.self].name == nil && board[String.self].channel.name == nil)
        #expect(board["String" as ChannelName<String>].post("of that name") == 1, "the pattern's, and no other's")
        #expect(overheard.all.map(\.channelName) == ["String"])
        withExtendedLifetime(token) {}
    }

    @Test func typesAreToldApartByIdentityAndNotByTheirName() {
        let board = Switchboard()
        let heard = Recorder<String>()
        let tokens = [
            board[Shop.Sale.self].listen { heard.record("shop \($0.total)") },
            board[Market.Sale.self].listen { heard.record("market \($0.total)") },
        ]
        #expect("\(Shop.Sale.self)" == "\(Market.Sale.self)")
        #expect(board[Shop.Sale.self].post(Shop.Sale(total: 1)) == 1)
        #expect(board[Market.Sale.self].post(Market.Sale(total: 2)) == 1)
        #expect(heard.all == ["shop 1", "market 2"])
        let channels = board.snapshot().channels
        #expect(channels.map(\.name) == ["Sale", "Sale"] && channels.map(\.messageType) == ["Sale", "Sale"])
        #expect(channels.allSatisfy { $0.kind == .messages && $0.listeners.count == 1 })
        withExtendedLifetime(tokens) {}
    }

    @Test func theChannelOfATypeIsFreedWhenNobodyListens() {
        let board = Switchboard()
        weak var watched: Channel<Shop.Sale>?
        let owner = Owner()
        board[Shop.Sale.self].listen(owner) { _, _ in }
        watched = board[Shop.Sale.self].channel
        #expect(watched != nil && board.snapshot().channels.map(\.name) == ["Sale"])
        board[Shop.Sale.self].removeListeners(of: owner)
        #expect(watched == nil && board.snapshot().channels.isEmpty)
        board[Shop.Sale.self].listen(owner) { _, _ in }
        board.removeListeners(of: owner)
        #expect(board.snapshot().channels.isEmpty)
    }

    @Test func aFaultOnTheChannelOfATypeNamesTheType() {
        let faults = Recorder<Fault>()
        let board = Switchboard { faults.record($0) }
        let token = board[Int.self].listen { (_: Int) throws in throw Trouble() }
        board[Int.self].post(1)
        #expect(faults.all.map(\.channelName) == ["Channel<Int>"])
        withExtendedLifetime(token) {}
    }

    // MARK: One text for two kinds

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: ["post", "listen", "channel", "state"])
    func aTypedNameInUseForAnotherKindTrapsNamingBoth(use: String) async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
            let board = Switchboard()
            let name: ChannelName<Int> = "mixed"
            _ = use == "state" ? nil : board.state("mixed", initial: 1)
            switch use {
            case "post": board[name].post(1)
            case "listen": _ = board[name].listen { _ in }
            case "channel": _ = board[name].channel
            default:
                let token = board[name].listen { _ in }
                _ = board.state("mixed", initial: 1)
                withExtendedLifetime(token) {}
            }
        }
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("a state of type Int") && text.contains("messages of type Int"), "\(text)")
    }
    #endif
}

private enum Shop { struct Sale { let total: Int } }
private enum Market { struct Sale { let total: Int } }
