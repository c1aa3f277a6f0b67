import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

private struct Card: Sendable {
    let number: String
}

private struct Payment: Sendable, CustomStringConvertible {
    let total: Int
    let card: Card?

    var description: String { "\(total) with \(card?.number ?? "cash")" }
}

/// Posts itself whenever it is described.
private struct Chatty: Sendable, CustomStringConvertible {
    let channel: Channel<Chatty>

    var description: String {
        channel.post(self)
        return "chatty"
    }
}

struct TracingTests {
    let board = Switchboard(onFault: { _ in }, diagnostics: .trace)
    let number = ChannelName<Int>("trace.number")

    private func shown(_ name: String = "trace.number") throws -> ChannelSnapshot { try board.shown(name) }

    @Test func postersAreToldApartByTypeAndPlaceOfThePost() async throws {
        let owner = Owner()
        let channel = board.channel(number)
        let token = channel.listen { _ in }
        for message in 0..<3 { board[number].post(message, from: owner) }
        let line: UInt = #line - 1
        for message in 0..<2 { channel.post(message) }
        await channel.postAndWait(5)
        #expect(try shown().posters.map(\.senderType) == ["Owner", nil, nil])
        #expect(try shown().posters.map(\.postCount) == [3, 2, 1])
        #expect(try shown().posters.compactMap { $0.site?.line } == [line, line + 2, line + 3])
        #expect(try shown().posters.allSatisfy { $0.site?.fileID == #fileID })
        withExtendedLifetime(token) {}
    }

    @Test func whereAPostIsWrittenIsKnownOfEveryKindOfChannel() async throws {
        func lines(_ channel: ChannelSnapshot?) throws -> Set<UInt> {
            let sites = try #require(channel).posters.map(\.site)
            #expect(sites.allSatisfy { $0?.fileID == #fileID })
            return Set(sites.compactMap { $0?.line })
        }
        let state = board.state(StateName<Int>("trace.state"), initial: 0)
        let requests = board.requests(RequestName<Int, Int>("trace.request"))
        let queued = board.channel(ChannelName<Int>("trace.queued"), reentrancy: .queued)
        let bell = Bell {}
        let line: UInt = #line
        let tokens = [
            queued.listen { if $0 == 0 { queued.post(1) } },
            state.listen { _ in }, requests.respond { $0 },
        ]
        state.set(1)
        state.update { $0 += 1 }
        _ = try await requests.ask(1)
        _ = await requests.askAll(1)
        board.add(bell, for: (any Sounding).self)
        board.notify((any Sounding).self) { $0.sound() }
        queued.post(0)
        #expect(try lines(shown("trace.state")) == [line + 5, line + 6])
        #expect(try lines(shown("trace.request")) == [line + 7, line + 8])
        #expect(try lines(board.snapshot().protocols.first) == [line + 10])
        #expect(try lines(shown("trace.queued")) == [line + 2, line + 11])
        withExtendedLifetime(tokens) {}
    }

    @Test func timesAreShownForDirectQueuedAndAsyncListeners() async throws {
        let queue = DispatchQueue(label: "tracing")
        let tokens = [
            board[number].listen { _ in },
            board[number].listen(on: queue) { _ in },
            board[number].listen { _ in await Task.yield() },
        ]
        for message in 0..<4 { await board[number].postAndWait(message) }
        for listener in try shown().listeners {
            #expect(listener.waitTimes?.count == 4, "\(listener)")
            #expect(listener.callTimes?.count == 4, "\(listener)")
            #expect(try #require(listener.callTimes?.longest) >= #require(listener.callTimes?.mean))
        }
        #expect(board.snapshot().lanes.first?.longestWait != nil)
        withExtendedLifetime(tokens) {}
    }

    @Test func whatAListenerSpendsIsFromBeginningToEndOfItsCall() throws {
        let token = board[number].listen { _ in
            let start = ContinuousClock.now
            while .now - start < .milliseconds(3) {}
        }
        board[number].post(1)
        #expect(try #require(shown().listeners.first?.callTimes?.longest) >= .milliseconds(2))
        withExtendedLifetime(token) {}
    }

    @Test func aSequenceShowsHowLongItsMessagesWaited() async throws {
        let messages = board[number].messages()
        board[number].post(1)
        var iterator = messages.makeAsyncIterator()
        _ = await iterator.next()
        #expect(try shown().listeners.map { $0.waitTimes?.count } == [1])
    }

    @Test func theLastMessagesAreKeptAndTheOldestComesFirst() throws {
        board.diagnostics = .trace(keeping: 3)
        let token = board[number].listen { _ in }
        for message in 1...5 { board[number].post(message) }
        #expect(try shown().messages.map(\.text) == ["3", "4", "5"])
        #expect(try shown().messages.map(\.number) == [3, 4, 5])
        board.diagnostics = .trace
        #expect(try shown().messages.isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test func whereMoreMessagesAreKeptThePostersThatAreKnownStay() throws {
        board.diagnostics = .trace(keeping: 2)
        let token = board[number].listen { _ in }
        for message in 1...3 {
            board[number].post(message)
            board.diagnostics = .trace(keeping: 2 + message)
        }
        #expect(try shown().posters.map(\.postCount) == [3])
        #expect(try shown().messages.map(\.text) == ["1", "2", "3"])
        withExtendedLifetime(token) {}
    }

    @Test func theTableShowsAChannelThenItsPostersThenItsListeners() throws {
        let token = board[number].listen { _ in }
        board[number].post(1)
        let lines = "\(board)".split(separator: "\n").map(String.init)
        #expect(lines.count == 4 && lines[1].hasPrefix("trace.number: Int, 1 post"))
        #expect(lines[2].hasPrefix("  from no one named, 1 post, \(#fileID):"))
        #expect(
            lines[3].hasPrefix("  token, direct, priority normal, 1 delivered, waited ") && lines[3].contains(", took ")
        )
        withExtendedLifetime(token) {}
    }

    @Test func whatIsToBeRedactedIsNotShownEvenInsideOtherMessages() throws {
        board.diagnostics = .trace(keeping: 8, redacting: [Card.self])
        let cards = board.channel(ChannelName<Card>("trace.card"))
        let payments = board.channel(ChannelName<Payment>("trace.payment"))
        let several = board.channel(ChannelName<[String: Payment]>("trace.several"))
        cards.post(Card(number: "4711"))
        payments.post(Payment(total: 1, card: Card(number: "4711")))
        payments.post(Payment(total: 2, card: nil))
        several.post(["a": Payment(total: 3, card: Card(number: "4711"))])
        let texts = board.snapshot().channels.flatMap(\.messages).map(\.text)
        #expect(texts.count == 4)
        #expect(!texts.contains { $0.contains("4711") }, "\(texts)")
        #expect(texts.contains("<Card, redacted>"))
        #expect(texts.contains("2 with cash"))
        #expect(texts.contains { $0.contains("total: 1") && $0.contains("<Card, redacted>") }, "\(texts)")
        withExtendedLifetime((cards, payments, several)) {}
    }

    @Test func aDescriptionThatPostsEnds() throws {
        board.diagnostics = .trace(keeping: 4)
        let channel = board.channel(ChannelName<Chatty>("trace.chatty"))
        let heard = Tally()
        let token = channel.listen { _ in heard.add() }
        channel.post(Chatty(channel: channel))
        #expect(heard.value == 2)
        #expect(try shown("trace.chatty").messages.map(\.text) == ["chatty"])
        withExtendedLifetime(token) {}
    }

    @Test func aMessageIsNotDescribedWhereNoneIsKept() throws {
        board.diagnostics = .trace
        let channel = board.channel(ChannelName<Chatty>("trace.chatty"))
        let heard = Tally()
        let token = channel.listen { _ in heard.add() }
        // Its description posts.
        channel.post(Chatty(channel: channel))
        #expect(heard.value == 1)
        withExtendedLifetime(token) {}
    }

    @Test func aLongTextIsCut() throws {
        board.diagnostics = .trace(keeping: 1)
        let channel = board.channel(ChannelName<String>("trace.text"))
        channel.post(String(repeating: "x", count: 100_000))
        #expect(try shown("trace.text").messages.map(\.text.count) == [1_025])
    }

    @Test func valuesOfAStateAreKeptHoweverTheyAreSet() throws {
        board.diagnostics = .trace(keeping: 8)
        let state = board.state(StateName<Int>("trace.state"), initial: 0)
        let token = state.listen { _ in }
        state.set(1)
        state.update { $0 = 2 }
        #expect(try shown("trace.state").messages.map(\.text) == ["1", "2"])
        #expect(try shown("trace.state").postCount == 2)
        withExtendedLifetime(token) {}
    }
}
