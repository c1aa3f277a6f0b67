import Channels
import Dispatch
import Testing

private final class Basket: ChannelParticipant, Sendable {
    let switchboard: Switchboard
    let heard = FormLog<String>()

    init(_ switchboard: Switchboard) {
        self.switchboard = switchboard
    }

    func enter() {
        listen(on: "basket.changed") { me, message in me.heard.add("\(message["total"] as? Int ?? 0)") }
        listen(on: "basket.changed", priority: .high) { me, message, info in me.heard.add("info \(info.sender === me)")
        }
    }
}

private final class Plain: ChannelParticipant, Sendable {}

private actor Warehouse: ChannelParticipant {
    let switchboard: Switchboard
    var heard: [Int] = []

    init(_ switchboard: Switchboard) {
        self.switchboard = switchboard
    }

    func enter() {
        listen(on: "basket.changed") { me, message in await me.add(message["total"] as? Int ?? 0) }
    }

    func add(_ total: Int) {
        heard.append(total)
    }

    /// Written here or from outside, the body is on the actor.
    func enterOnItself() {
        listen(on: "basket.changed") { me, message in me.heard.append(1) }
        listen(on: "basket.changed", context: 2) { me, _, two in me.heard.append(two) }
        once(on: "basket.changed") { me, _ in me.heard.append(3) }
    }
}

@MainActor
private final class Screen: ChannelParticipant {
    nonisolated let switchboard: Switchboard
    var title = ""

    init(_ switchboard: Switchboard) {
        self.switchboard = switchboard
    }

    func enter() {
        listen(on: "basket.changed") { me, message in me.title = "\(message["total"] as? Int ?? 0)" }
    }
}

struct ParticipantFormTests {
    let board = Switchboard(onFault: { _ in })

    @Test func listenPostAndLeave() {
        let basket = Basket(board)
        basket.enter()
        #expect(basket.post(["total": 3], to: "basket.changed") == 2)
        #expect(basket.post(["total": 4], to: "basket.changed", echo: false) == 0)
        basket.leave("basket.changed")
        #expect(basket.post(["total": 5], to: "basket.changed") == 0)
        #expect(basket.heard.all == ["info true", "3"])
    }

    @Test func sharedSwitchboardIsTheDefault() {
        let plain = Plain()
        #expect(plain.switchboard === Switchboard.shared)
        let log = FormLog<Int>()
        plain.listen(on: "forms.participant") { _, message in log.add(message.count) }
        #expect(Plain().post(["a": 1, "b": "two"], to: "forms.participant") == 1)
        #expect(log.all == [2])
        plain.leave("forms.participant")
        #expect(plain.post([:], to: "forms.participant") == 0)
    }

    @Test func participantsOfTheBoardsOtherForms() async {
        let basket = Basket(board)
        let warehouse = Warehouse(board)
        await warehouse.enter()
        let name: ChannelName<[String: any Sendable]> = "basket.changed"
        #expect(await board.postAndWait(["total": 8], to: name, from: basket).completed == 1)
        #expect(await warehouse.heard == [8])
    }

    @Test @MainActor func mainActorParticipant() {
        let screen = Screen(board)
        screen.enter()
        #expect(screen.post(["total": 9], to: "basket.changed") == 1)
        #expect(screen.title == "9")
    }

    @Test func throwingListenerOfAParticipantRunsBeforePostReturns() {
        let log = FormLog<String>()
        let board = Switchboard(onFault: { fault in log.add("\(fault.code)") })
        let basket = Basket(board)
        basket.listen(on: "basket.changed") { me, message in
            me.heard.add("throws")
            throw FormError()
        }
        basket.listen(on: "basket.changed") { me, _, info in
            me.heard.add("throws info \(info.sender === me)")
            throw FormError()
        }
        #expect(basket.post([:], to: "basket.changed") == 2)
        #expect(basket.heard.all == ["throws", "throws info true"])
        #expect(log.all == ["listenerThrew", "listenerThrew"])
    }

    @Test func participantHandsItsListenersAContext() {
        let basket = Basket(board)
        basket.listen(on: "basket.changed", context: 4) { me, message, row in me.heard.add("row \(row)") }
        basket.once(on: "basket.changed", context: 5) { me, message, row in me.heard.add("once \(row)") }
        basket.post([:], to: "basket.changed")
        basket.post([:], to: "basket.changed")
        #expect(basket.heard.all == ["row 4", "once 5", "row 4"])
    }

    @Test func participantListensOnce() {
        let basket = Basket(board)
        basket.once(on: "basket.changed") { me, message in me.heard.add("once") }
        basket.once(on: "basket.changed", priority: .high) { me, message, info in
            me.heard.add("once \(info.sender === me)")
        }
        #expect(basket.post(["total": 1], to: "basket.changed") == 2)
        #expect(basket.post(["total": 1], to: "basket.changed") == 0)
        #expect(basket.heard.all == ["once true", "once"])
    }

    @Test func participantPostsAndWaitsForMailboxesAndQueues() async {
        let basket = Basket(board)
        basket.listen(on: "basket.changed", queue: .global()) { me, message in me.heard.add("queue") }
        basket.listen(on: "basket.changed") { me, message in
            await Task.yield()
            me.heard.add("async")
        }
        #expect(await basket.postAndWait(["total": 1], to: "basket.changed").completed == 2)
        #expect(basket.heard.all.sorted() == ["async", "queue"])
        #expect(await basket.postAndWait(["total": 1], to: "basket.changed", echo: false).reached == 0)
    }

    @Test func listenerOfAnActorParticipantRunsOnTheActor() async {
        let warehouse = Warehouse(board)
        await warehouse.enterOnItself()
        warehouse.listen(on: "basket.changed") { (me: isolated Warehouse, _: [String: any Sendable]) in
            me.heard.append(4)
        }
        #expect(await warehouse.postAndWait([:], to: "basket.changed").completed == 4)
        #expect(await warehouse.heard.sorted() == [1, 2, 3, 4])
        warehouse.leave("basket.changed")
        #expect(warehouse.post([:], to: "basket.changed") == 0)
    }
}
