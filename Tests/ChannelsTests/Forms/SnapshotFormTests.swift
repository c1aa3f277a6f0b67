import Channels
import ChannelsDiagnostics
import Testing

struct SnapshotFormTests {
    let board = Switchboard(onFault: { _ in }, diagnostics: .counts)
    let owner = FormListener()

    @Test func snapshotSaysEverythingAndIsReadable() throws {
        let channel = board.channel(ChannelName<Int>("shop.checkout"))
        channel.listen(owner, priority: .high) { _, _ in }
        channel.intercept(owner) { _, _ in .continue }
        board.state(StateName<String>("shop.sales"), initial: "none").listen(owner) { _, _ in }
        board.requests(RequestName<Int, String>("shop.price")).respond(owner) { _, number in "\(number)" }
        let token = board[matching: "shop.*"].listen { _ in }
        channel.post(1)
        let snapshot = board.snapshot()
        #expect(snapshot.channels.map(\.name) == ["shop.checkout", "shop.price", "shop.sales"])
        #expect(snapshot.channels.map(\.kind) == [.messages, .requests, .state])
        #expect(snapshot.channels.map(\.messageType) == ["Int", "Int -> String", "String"])
        #expect(snapshot.patterns.map(\.name) == ["shop.*"])
        #expect(snapshot.patterns.map(\.kind) == [.pattern])
        let checkout = try #require(snapshot.channels.first)
        #expect(checkout.postCount == 1)
        #expect(checkout.listeners.map(\.deliveryKind) == [.interceptor, .direct, .pattern])
        #expect(checkout.listeners[1].ownerType == "FormListener")
        #expect(checkout.listeners[1].priority == .high)
        #expect(checkout.listeners[1].deliveredCount == 1)
        #expect(checkout.listeners[1].registrationSite.fileID == #fileID)
        for text in ["shop.checkout", "Int", "FormListener", "priority high", #fileID, "shop.sales", "shop.*"] {
            #expect("\(board)".contains(text), "\(board)")
        }
        withExtendedLifetime(token) {}
    }
}
