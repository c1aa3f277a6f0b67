import Channels
import ChannelsTesting
import Testing

private final class Basket: ChannelParticipant, Sendable {
    let switchboard: Switchboard
    let heard = Recorder<String>()

    init(_ switchboard: Switchboard) { self.switchboard = switchboard }

    func note(_ text: String) async { heard.record(text) }

    func enter() {
        listen(on: "basket.changed") { me, post in me.heard.record("\(post.message["total"] as? Int ?? 0)") }
        listen(on: "basket.changed") { me, post in me.heard.record("mine \(post.sender === me)") }
    }
}

private actor Warehouse: ChannelParticipant {
    var heard: [Int] = []

    func enter(_ name: ChannelName<[String: any Sendable]>) {
        listen(on: name) { me, post in me.heard.append(1) }
        listen(on: name) { me, post in await me.add(2) }
        switchboard[name].posts.listen(self) { me, post in
            me.heard.append(3)
            await me.add(4)
        }
    }

    func add(_ total: Int) async { heard.append(total) }
}

@MainActor
private final class Screen: ChannelParticipant {
    nonisolated let switchboard: Switchboard
    var heard: [String] = []

    init(_ switchboard: Switchboard) {
        self.switchboard = switchboard
        listen(on: "basket.changed") { me, post in me.heard.append("\(post.message["total"] as? Int ?? 0)") }
        listen(on: "basket.changed") { me, post in await me.add() }
    }

    func add() async { heard.append("async") }
}

struct ParticipantFormTests {
    @Test func listenPostAndLeave() {
        let board = Switchboard()
        let basket = Basket(board)
        basket.enter()
        #expect(basket.post(["total": 3], to: "basket.changed") == 2)
        #expect(Basket(board).post(["total": 4], to: "basket.changed") == 2)
        #expect(basket.post(["total": 5], to: "basket.changed", echo: false) == 0)
        basket.leave("basket.changed")
        #expect(basket.post(["total": 6], to: "basket.changed") == 0)
        #expect(basket.heard.all == ["3", "mine true", "4", "mine false"])
    }

    @Test @MainActor func mainActorParticipantListensOnTheMainActor() async {
        let screen = Screen(Switchboard())
        #expect(screen.post(["total": 9], to: "basket.changed") == 2 && screen.heard == ["9"])
        #expect(await screen.postAndWait(["total": 8], to: "basket.changed").completedCount == 2)
        #expect(screen.heard.sorted() == ["8", "9", "async", "async"])
    }

    @Test func listenerOfAnActorParticipantRunsOnTheActor() async {
        let warehouse = Warehouse()
        #expect(warehouse.switchboard === Switchboard.shared)
        await warehouse.enter("forms.warehouse")
        warehouse.listen(on: "forms.warehouse") { me, post in me.heard.append(5) }
        #expect(await warehouse.postAndWait([:], to: "forms.warehouse").completedCount == 4)
        #expect(await warehouse.heard.sorted() == [1, 2, 3, 4, 5])
    }

    @Test func throwingAndAsyncListenersOfAParticipant() async {
        let faults = Recorder<Fault>()
        let basket = Basket(Switchboard(onFault: { faults.record($0) }))
        basket.listen(on: "basket.changed") { _, _ in throw Trouble() }
        basket.listen(on: "basket.changed") { me, post in await me.note("async") }
        #expect(await basket.postAndWait([:], to: "basket.changed").completedCount == 1)
        #expect(faults.all.map(\.code) == [.listenerThrew])
        #expect(faults.all.first?.registrationSite?.fileID == #fileID)
        #expect(basket.heard.all == ["async"])
        #expect(await basket.postAndWait([:], to: "basket.changed", echo: false).reachedCount == 0)
    }
}
