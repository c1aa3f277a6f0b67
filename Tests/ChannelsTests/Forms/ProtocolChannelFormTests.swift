import Channels
import ChannelsTesting
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
    var ids: [Int] = []

    func userLogin(_ id: Int) { ids.append(id) }
}

private protocol Sounds: AnyObject, Sendable {
    func play(_ sound: String) throws
}

extension FormListener: Sounds {
    fileprivate func play(_ sound: String) { hear(sound) }
}

private actor Deck: Sounds {
    let heard = Recorder<String>()

    nonisolated func play(_ sound: String) { heard.record(sound) }
}

/// Neither Sendable nor on an actor.
private protocol Local: AnyObject {
    func tick()
}

private final class Clock: Local {
    var ticks = 0

    func tick() { ticks += 1 }
}

struct ProtocolChannelFormTests {
    let board = Switchboard(onFault: { _ in })

    @Test @MainActor func addNotifyRemoveOnTheMainActor() {
        let (greeter, other) = (Greeter(), Greeter())
        #expect(!board.contains(greeter, for: (any UserEvents).self))
        #expect(board.add(greeter, for: (any UserEvents).self))
        #expect(!board.add(greeter, for: (any UserEvents).self))
        #expect(board.contains(greeter, for: (any UserEvents).self))
        #expect(!board.contains(other, for: (any UserEvents).self))
        #expect(board.notify((any UserEvents).self) { $0.userLogin(19000) } == 1)
        #expect(board.notify((any UserEvents).self) { $0.userLogout() } == 1)
        #expect(greeter.ids == [19000])
        #expect(board.remove(greeter, for: (any UserEvents).self))
        #expect(!board.remove(greeter, for: (any UserEvents).self))
        #expect(board.notify((any UserEvents).self) { $0.userLogin(1) } == 0)
    }

    @Test func observersOfEveryKindAreCalledByPriorityThenByRegistration() {
        let (first, deck, last) = (FormListener(), Deck(), FormListener())
        let existential: any Sounds = last
        #expect(board.add(first, for: (any Sounds).self))
        #expect(board.add(deck, for: (any Sounds).self, priority: .high))
        #expect(board.add(existential, for: (any Sounds).self))
        #expect(!board.add(last, for: (any Sounds).self))
        do { board.add(Deck(), for: (any Sounds).self) }
        var order: [any Sounds] = []
        #expect(board.notify((any Sounds).self) { order.append($0) } == 3)
        #expect(order.map { ObjectIdentifier($0) } == [ObjectIdentifier(deck), .init(first), .init(last)])
        #expect(board.notify((any Sounds).self, from: first, echo: false) { try? $0.play("x") } == 2)
        #expect([first.heard.all, deck.heard.all, last.heard.all] == [[], ["x"], ["x"]])
        board.removeListeners(of: deck)
        #expect(board.observers((any Sounds).self).listenerCount == 2)
    }

    @Test func channelsWithoutASwitchboardOrSendability() {
        let (ticks, clock) = (ProtocolChannel<any Local>(), Clock())
        #expect(ticks.add(clock, priority: .low))
        #expect(!ticks.add(clock))
        #expect(ticks.contains(clock) && ticks.hasListeners(of: clock))
        #expect(ticks.notify { $0.tick() } == 1)
        #expect(clock.ticks == 1)
        #expect(ticks.remove(clock))
        #expect(ticks.isEmpty)
    }
}
