import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// Who can guess an identifier can suppress the message that has it.
@Suite(.hangLimit)
struct IdentifierTests {
    private let broker = InMemoryBroker()

    /// The vector of the reference implementation for the bytes 0 to 7, with the key of the bytes 0 to 15.
    @Test func hashIsSipHash() {
        let hash = KeyedHash(key: 0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)
        let digest = hash.digest(of: 0x0706_0504_0302_0100)
        let bytes = [digest.first, digest.second].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) }
        }
        let vector: [UInt8] = [
            0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97, 0xb4,
        ]
        #expect(bytes == vector)
    }

    /// Eight bytes at a time, then what is left and the length of each text: computed by another implementation.
    @Test(arguments: [
        (["abcdefgh"], "f2cd9cca881e3f620f0e9853a564acce"), ([""], "6c011291aaae80d331921ac64c3e9d1b"),
        (["abcdefghij", "", "k"], "10c457ce1cc1385aba98183d866a9352"),
    ])
    func hashOfTextsIsThatOfTheirWords(texts: [String], digest: String) {
        let hash = KeyedHash(key: 0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)
        let found = texts.count == 1 ? hash.digest(of: texts[0]) : hash.digest(of: texts[0], texts[1], texts[2])
        #expect(found.text == digest)
    }

    @Test func textsThatAreDividedElsewhereHaveAnotherDigest() {
        let hash = KeyedHash()
        let digests = [
            hash.digest(of: "ab", "c"), hash.digest(of: "a", "bc"), hash.digest(of: "abc", ""), hash.digest(of: "abc"),
            hash.digest(of: "", "abc"), hash.digest(of: "abcdefgh", ""), hash.digest(of: "abcdefgh\0", ""),
            hash.digest(of: "a\0", "b"), hash.digest(of: "a", "b\0"),
        ]
        #expect(Set(digests).count == digests.count)
        #expect(hash.digest(of: "ab", "c") == digests[0] && KeyedHash().digest(of: "ab", "c") != digests[0])
        #expect(digests.allSatisfy { $0.text.count == 32 })
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
