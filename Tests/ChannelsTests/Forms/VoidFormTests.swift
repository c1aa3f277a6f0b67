import Channels
import Dispatch
import Testing

extension ChannelName<Void> {
    fileprivate static var ping: Self { "forms.ping" }
}

private actor Bell {
    let clicks = LocalChannel<Void>()
    var heard: [String] = []

    func ring() -> Int {
        clicks.listen(actor: self) { me in me.heard.append("plain") }
        clicks.listen(actor: self) { me, info in me.heard.append("info \(info.sender == nil)") }
        clicks.listen(actor: self, context: 7) { me, row in me.heard.append("row \(row)") }
        return clicks.post()
    }

    func hear(_ text: String) {
        heard.append(text)
    }
}

/// A listener of a channel of `Void` need not mention the message, whatever else it is handed.
struct VoidFormTests {
    private let owner = FormListener()
    private let ping = Channel<Void>(onFault: { _ in })

    @Test func whoPostedWithoutTheMessage() async {
        ping.listen(owner) { me, info in me.hear("plain \(info.sender === me)") }
        ping.listen(owner) { me, info in try me.hearOrThrow("throwing \(info.origin)") }
        ping.once(owner) { me, info in
            let isMine = info.sender === me
            me.hear("once \(isMine)")
        }
        let token = ping.listen { [owner] info in owner.hear("ownerless \(info.sender === owner)") }
        #expect(ping.post(from: owner) == 4)
        #expect(owner.heard.all == ["plain true", "throwing local", "once true", "ownerless true"])
        withExtendedLifetime(token) {}
    }

    @Test func whoPostedWithoutTheMessageInAMailbox() async {
        ping.listen(owner) { me, info in await me.hearLater("async \(info.origin)") }
        ping.listen(owner, on: .global()) { me, info in me.hear("queue \(info.origin)") }
        #expect(await ping.postAndWait().completed == 2)
        #expect(owner.heard.all.sorted() == ["async local", "queue local"])
    }

    @Test func contextWithoutTheMessage() async {
        ping.listen(owner, context: 1) { me, row in me.hear("plain \(row)") }
        ping.listen(owner, context: 2) { me, row in try me.hearOrThrow("throwing \(row)") }
        ping.once(owner, context: 3) { me, row in me.hear("once \(row)") }
        ping.listen(owner, context: 4) { me, _, row in me.hear("with message \(row)") }
        #expect(ping.post() == 4)
        #expect(owner.heard.all == ["plain 1", "throwing 2", "once 3", "with message 4"])
        ping.removeListeners(of: owner)
        ping.listen(owner, context: 5) { me, row in await me.hearLater("async \(row)") }
        ping.listen(owner, context: 6, on: .global()) { me, row in me.hear("queue \(row)") }
        #expect(await ping.postAndWait().completed == 2)
        #expect(owner.heard.all.suffix(2).sorted() == ["async 5", "queue 6"])
    }

    @Test func ignoredSecondArgumentIsTheMessage() {
        ping.listen(owner) { me, _ in me.hear("owner") }
        ping.listen(owner) { me, message in me.hear("\(message)") }
        let token = ping.listen { [owner] _ in owner.hear("ownerless") }
        #expect(ping.post() == 3)
        #expect(owner.heard.all == ["owner", "()", "ownerless"])
        withExtendedLifetime(token) {}
    }

    @Test func actorsWithoutTheMessage() async {
        let actor = FormActor()
        ping.listen(actor) { (me: isolated FormActor, info: PostInfo) in me.hear("sync \(info.origin)") }
        ping.listen(actor) { me, info in await me.hearLater("async \(info.origin)") }
        ping.listen(actor, context: 1) { (me: isolated FormActor, row: Int) in me.hear("row \(row)") }
        #expect(await ping.postAndWait().completed == 3)
        #expect(await actor.heard.sorted() == ["async local", "row 1", "sync local"])
    }

    @Test func namesWithoutTheMessage() async {
        let board = Switchboard(onFault: { _ in })
        board.listen(owner, to: .ping) { me in me.hear("plain") }
        board.listen(owner, to: .ping) { me, info in me.hear(info.channelName ?? "-") }
        board.listen(owner, to: .ping, context: 1) { me, row in me.hear("row \(row)") }
        board.once(owner, to: .ping) { me, info in me.hear("once \(info.origin)") }
        let token = board.listen(to: .ping) { [owner] info in owner.hear("ownerless \(info.origin)") }
        #expect(board.post(to: .ping) == 5)
        #expect(owner.heard.all == ["plain", "forms.ping", "row 1", "once local", "ownerless local"])
        withExtendedLifetime(token) {}
    }

    @Test func localChannelsWithoutTheMessage() {
        let clicks = LocalChannel<Void>(onFault: { _ in })
        clicks.listen(owner) { me, info in me.hear("plain \(info.sender === me)") }
        clicks.listen(owner) { me, info in try me.hearOrThrow("throwing \(info.sender === me)") }
        clicks.listen(owner, context: 1) { me, row in me.hear("row \(row)") }
        clicks.listen(owner) { me, _ in me.hear("message") }
        clicks.once(owner) { me, info in me.hear("once \(info.sender === me)") }
        let token = clicks.listen { [owner] info in owner.hear("ownerless \(info.sender === owner)") }
        #expect(clicks.post(from: owner) == 6)
        #expect(owner.heard.all == ["plain true", "throwing true", "row 1", "message", "once true", "ownerless true"])
        withExtendedLifetime(token) {}
    }

    @Test func localChannelsInActorsWithoutTheMessage() async {
        let bell = Bell()
        #expect(await bell.ring() == 3)
        #expect(await bell.heard == ["plain", "info true", "row 7"])
    }
}
