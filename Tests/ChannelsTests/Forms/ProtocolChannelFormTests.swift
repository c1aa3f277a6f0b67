import Channels
import Testing

@MainActor
private protocol UserEvents: AnyObject, Sendable {
    func userLogin(_ id: Int)
    func userLogout()
}

extension UserEvents {
    func userLogout() {}
}

@MainActor
private final class Greeter: UserEvents {
    var heard: [String] = []
    let name: String

    init(_ name: String = "greeter") {
        self.name = name
    }

    func userLogin(_ id: Int) {
        heard.append("\(name) \(id)")
    }

    func enter(_ board: Switchboard) -> Bool {
        board.add(self, for: (any UserEvents).self, priority: .high)
    }

    func leave(_ board: Switchboard) -> Bool {
        board.remove(self, for: (any UserEvents).self)
    }
}

private protocol Sounds: AnyObject, Sendable {
    func play(_ sound: String) throws
}

private final class Speaker: Sounds {
    let heard = FormLog<String>()

    func play(_ sound: String) {
        heard.add(sound)
    }
}

private actor Recorder: Sounds {
    let heard = FormLog<String>()

    nonisolated func play(_ sound: String) {
        heard.add("recorded \(sound)")
    }
}

/// Neither Sendable nor on an actor.
private protocol Local: AnyObject {
    func tick()
}

private final class Clock: Local {
    var ticks = 0

    func tick() {
        ticks += 1
    }
}

struct ProtocolChannelFormTests {
    let board = Switchboard(onFault: { _ in })

    @Test @MainActor func addNotifyRemoveOnTheMainActor() {
        let greeter = Greeter()
        #expect(greeter.enter(board))
        #expect(!board.add(greeter, for: (any UserEvents).self))
        #expect(board.notify((any UserEvents).self) { $0.userLogin(19000) } == 1)
        #expect(board.notify((any UserEvents).self) { $0.userLogout() } == 1)
        #expect(greeter.heard == ["greeter 19000"])
        #expect(greeter.leave(board))
        #expect(!greeter.leave(board))
        #expect(board.notify((any UserEvents).self) { $0.userLogin(1) } == 0)
    }

    @Test @MainActor func observersAreCalledByPriorityThenByRegistration() {
        let order = FormLog<String>()
        let observers = ["a", "b", "c"].map { Greeter($0) }
        board.add(observers[0], for: (any UserEvents).self)
        board.add(observers[1], for: (any UserEvents).self, priority: .high)
        board.add(observers[2], for: (any UserEvents).self)
        #expect(board.notify((any UserEvents).self) { order.add(($0 as? Greeter)?.name ?? "-") } == 3)
        #expect(order.all == ["b", "a", "c"])
        #expect(board.notify((any UserEvents).self, from: observers[1], echo: false) { $0.userLogin(1) } == 2)
        board.removeAll(observers[0])
        #expect(board.protocolChannel((any UserEvents).self).observerCount == 2)
        withExtendedLifetime(observers) {}
    }

    @Test func sendableProtocolsFromAnywhere() {
        let speaker = Speaker()
        let recorder = Recorder()
        let existential: any Sounds = speaker
        #expect(board.add(existential, for: (any Sounds).self))
        #expect(!board.add(speaker, for: (any Sounds).self))
        #expect(board.add(recorder, for: (any Sounds).self))
        #expect(board.notify((any Sounds).self) { try? $0.play("ding") } == 2)
        #expect(speaker.heard.all == ["ding"])
        #expect(recorder.heard.all == ["recorded ding"])
    }

    @Test func unnamedChannel() {
        let sounds = ProtocolChannel<any Sounds>()
        let speaker = Speaker()
        #expect(sounds.add(speaker, priority: .low))
        #expect(!sounds.add(speaker))
        #expect(sounds.contains(speaker))
        var played = 0
        #expect(sounds.notify { _ in played += 1 } == 1)
        #expect(played == 1)
        #expect(sounds.remove(speaker))
        #expect(sounds.isEmpty)
    }

    @Test func protocolThatIsNotSendable() {
        let ticks = ProtocolChannel<any Local>()
        let clock = Clock()
        ticks.add(clock)
        #expect(ticks.notify { $0.tick() } == 1)
        #expect(clock.ticks == 1)
    }

    @Test func observersAreHeldWeakly() {
        do { board.add(Speaker(), for: (any Sounds).self) }
        #expect(board.notify((any Sounds).self) { try? $0.play("nobody") } == 0)
    }

    @Test @MainActor func boardKnowsWhoObservesAProtocol() {
        let board = Switchboard(onFault: { _ in })
        let (greeter, other) = (Greeter(), Greeter("other"))
        #expect(!board.contains(greeter, for: (any UserEvents).self))
        #expect(greeter.enter(board))
        #expect(board.contains(greeter, for: (any UserEvents).self))
        #expect(!board.contains(other, for: (any UserEvents).self))
        #expect(greeter.leave(board))
        #expect(!board.contains(greeter, for: (any UserEvents).self))
    }
}
