import Channels
import Dispatch
import Foundation
import Testing

struct SnapshotFormTests {
    let board = Switchboard(onFault: { _ in }, diagnostics: .counts)
    let owner = FormListener()

    private func fill() -> ListenerToken {
        let view = board.channel(ChannelName<Int>("shop.checkout"))
        view.listen(owner, priority: .high) { _, _ in }
        view.intercept(owner) { _, _ in .continue }
        board.state("shop.sales", initial: "none").listen(owner) { _, _ in }
        board.requests(RequestName<Int, String>("shop.price")).respond(owner) { _, number in "\(number)" }
        let token = board.listen(matching: "shop.*") { _, _ in }
        view.post(1)
        return token
    }

    @Test func snapshotSaysEverything() throws {
        let token = fill()
        let snapshot = board.snapshot()
        #expect(snapshot.channels.map(\.name) == ["shop.checkout", "shop.price", "shop.sales"])
        #expect(snapshot.channels.map(\.kind) == [.messages, .requests, .state])
        #expect(snapshot.channels.map(\.messageType) == ["Int", "Int -> String", "String"])
        #expect(snapshot.patterns.map(\.name) == ["shop.*"])
        let checkout = try #require(snapshot.channels.first)
        #expect(checkout.posts == 1)
        #expect(checkout.listeners.map(\.delivery) == [.interceptor, .direct, .pattern])
        #expect(checkout.listeners[1].ownerType == "FormListener")
        #expect(checkout.listeners[1].priority == 100)
        #expect(checkout.listeners[1].delivered == 1)
        #expect(checkout.listeners[1].registrationSite.fileID == #fileID)
        withExtendedLifetime((token, owner)) {}
    }

    @Test func snapshotIsCodable() throws {
        let token = fill()
        let snapshot = board.snapshot()
        let data = try JSONEncoder().encode(snapshot)
        #expect(try JSONDecoder().decode(SwitchboardSnapshot.self, from: data) == snapshot)
        withExtendedLifetime((token, owner)) {}
    }

    @Test func dumpIsReadable() {
        let token = fill()
        let dump = "\(board)"
        for text in [
            "shop.checkout", "Int", "FormListener", "priority high", "SnapshotFormTests.swift:", "shop.sales", "shop.*",
        ] {
            #expect(dump.contains(text), "\(dump)")
        }
        withExtendedLifetime((token, owner)) {}
    }
}
