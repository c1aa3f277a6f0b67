import Channels
import Testing

private final class Basket: ChannelParticipant {
    let switchboard: Switchboard
    let heard = FormLog<String>()

    init(_ switchboard: Switchboard) {
        self.switchboard = switchboard
    }

    func enter() {
        listen(on: "basket.changed") { me, message in me.heard.add("\(message["total"] as? Int ?? 0)") }
        listen(on: "basket.changed", priority: .high) { me, message, info in me.heard.add("info \(info.sender === me)") }
    }
}

private final class Plain: ChannelParticipant {}

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
}
