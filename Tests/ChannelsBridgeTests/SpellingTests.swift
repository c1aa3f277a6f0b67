import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// `café` with a composed and with a decomposed last letter is two names, which a `String` takes for one.
@Suite(.hangLimit)
struct SpellingTests {
    private let broker = InMemoryBroker()
    private let spellings = ["caf\u{E9}", "cafe\u{301}"]

    @Test func statesOfTwoSpellingsAreNotMixed() async throws {
        let names = spellings.map { StateName<Sale>(stringLiteral: $0) }
        let routes = names.map { BridgeRoute.both(state: $0, initial: Sale(total: 0)) }
        let left = await MiniProcess("left", InMemoryTransport(broker), routes)
        let right = await MiniProcess("right", InMemoryTransport(broker), routes)
        for (index, name) in names.enumerated() {
            left.board.state(name, initial: Sale(total: 0)).set(Sale(total: index + 1))
        }
        for (index, name) in names.enumerated() {
            let state = right.board.state(name, initial: Sale(total: 0))
            #expect(await state.first { $0.total != 0 } == Sale(total: index + 1))
        }
        try await left.stop()
        try await right.stop()
    }

    @Test func groupsOfTwoSpellingsEachHearADurableMessage() async throws {
        let routes = spellings.map { BridgeRoute.incoming(.sold, durable: true).inGroup($0) }
        let (heard, board) = (Recorder<Int>(), Switchboard())
        let token = board[.sold].listen { heard.record($0.total) }
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), routes, board: board)
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold, durable: true)])
        await till.board[.sold].postAndWait(Sale(total: 7))
        #expect(await heard.first(2) == [7, 7])
        try await till.stop()
        try await kitchen.stop()
        withExtendedLifetime(token) {}
    }

    @Test func aTypeOfAnotherSpellingIsAnotherType() async throws {
        let kitchen = await MiniProcess("kitchen", InMemoryTransport(broker), [.incoming(.sold, type: spellings[0])])
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold, type: spellings[1])])
        till.board[.sold].post(Sale(total: 7))
        #expect(await kitchen.deadLetters.first(1).map(\.error.code) == [.unknownType])
        try await till.stop()
        try await kitchen.stop()
    }

    @Test func valuesOfATransportTellSpellingsApart() throws {
        let messages = try spellings.map { try TransportMessage(subject: $0, body: []) }
        #expect(Set(messages).count == 2)
        #expect(Set(spellings.map { TransportSubscription(to: "a", durableName: $0) }).count == 2)
        #expect(Set(spellings.map { TransportSubscription(to: "a", group: $0) }).count == 2)
        var headers = [TransportHeaders(), TransportHeaders()]
        for index in 0..<2 { try headers[index].set(spellings[index], for: "x-name") }
        #expect(Set(headers).count == 2)
    }
}
