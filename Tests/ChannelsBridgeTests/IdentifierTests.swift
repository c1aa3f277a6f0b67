import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// Who can guess an identifier can suppress the message that has it.
@Suite(.hangLimit)
struct IdentifierTests {
    private let broker = InMemoryBroker()

    @Test func textsThatAreDividedElsewhereHaveAnotherKey() {
        let keys = [
            MessageKey("ab", "c"), MessageKey("a", "bc"), MessageKey("abc", ""), MessageKey("abc"),
            MessageKey("", "abc"),
            MessageKey("abcdefgh", ""), MessageKey("abcdefgh\0", ""), MessageKey("a\0", "b"), MessageKey("a", "b\0"),
            // Equal texts of other bytes.
            MessageKey("\u{e9}"), MessageKey("e\u{301}"),
        ]
        #expect(Set(keys).count == keys.count && MessageKey("ab", "c") == keys[0])
    }

    @Test func identifiersTellNothingAboutLaterOnes() async throws {
        let listener = try await connectedTransport(broker)
        let heard = Recorder<String>()
        try await listener.subscribe(to: "shop.sold") { heard.record($0.message.headers["ce-id"] ?? "") }
        let till = await MiniProcess("till", InMemoryTransport(broker), [.outgoing(.sold)])
        for total in 0..<100 { till.board[.sold].post(Sale(total: total)) }
        let identifiers = await heard.first(100)
        try await till.stop()
        #expect(Set(identifiers).count == 100 && identifiers.allSatisfy { $0.count == 32 })
        // No part of them stays the same.
        for place in 0..<32 {
            #expect(Set(identifiers.map { Array($0.utf8)[place] }).count > 4)
        }
    }

    /// An identifier that was seen on another subject, or of another source, is another one.
    @Test(arguments: [("shop.lastSale", "victim"), ("shop.sold", "attacker")])
    func identifierSuppressesOnlyMessagesOfItsSubjectAndSource(_ subject: String, _ source: String) async throws {
        var hearing = AlteredTransport(broker)
        let forged = try TransportMessage.event(#"{"total":1}"#, to: subject, id: "seen", source: source)
        hearing.receives = { [InboundMessage(forged) { _ in }, $0] }
        let routes: [BridgeRoute] = [.incoming(matching: "shop.*", of: Sale.self, durable: true)]
        let kitchen = await MiniProcess("kitchen", hearing, routes)
        let (heard, token) = kitchen.recorder(.sold)
        let sender = try await connectedTransport(broker)
        let message = try TransportMessage.event(#"{"total":2}"#, to: "shop.sold", id: "seen", source: "victim")
        try await sender.publish(message, durable: true)
        await heard.wait { $0.contains(Sale(total: 2)) }
        try await kitchen.stop()
        #expect(kitchen.bridge.statistics.received == 2 && kitchen.bridge.statistics.duplicates == 0)
        withExtendedLifetime(token) {}
    }
}
