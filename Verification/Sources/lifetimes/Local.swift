import Channels
import Dispatch
import Foundation

/// The channels that belong to the main actor: a local one, and one of a protocol that is not Sendable.
@MainActor
final class LocalWorld {
    static var current: LocalWorld?

    let channel = LocalChannel<Message>(reentrancy: .nested(limit: 2), onFault: { _ in World.act() })
    let observers = ProtocolChannel<any LocalObserver>()
    var tokens: [LocalListenerToken] = []
    var owners: [LocalOwner] = []

    func act(_ world: World) {
        switch world.random(8) {
        case 0, 1: channel.post(Message(world))
        case 2:
            let probe = Probe(world)
            tokens.append(
                channel.listen(once: world.random(4) == 0) { _ in withExtendedLifetime(probe) { World.act() } }
            )
        case 3:
            let (owner, probe) = (LocalOwner(world), Probe(world))
            owners.append(owner)
            channel.listen(owner) { _, _ in withExtendedLifetime(probe) { World.act() } }
        case 4: remove(&tokens, world)?.cancel()
        case 5: _ = remove(&owners, world)
        case 6:
            let owner = LocalOwner(world)
            owners.append(owner)
            observers.add(owner)
        default: observers.notify { $0.happened() }
        }
    }

    private func remove<Element>(_ elements: inout [Element], _ world: World) -> Element? {
        elements.isEmpty ? nil : elements.remove(at: world.random(elements.count))
    }

    func end() {
        while let token = tokens.popLast() { token.cancel() }
        while owners.popLast() != nil {}
        channel.removeAllListeners()
        observers.removeAllListeners()
    }
}

protocol LocalObserver: AnyObject { func happened() }

/// Not Sendable: its deinit must run on the main thread.
final class LocalOwner: LocalObserver {
    private let probe: Probe

    init(_ world: World) { probe = Probe(world) }

    func happened() { World.act() }

    deinit { dispatchPrecondition(condition: .onQueue(.main)) }
}

extension World {
    /// Uses what belongs to the main actor, if this is the main thread.
    func useLocally() {
        guard Thread.isMainThread else { return }
        MainActor.assumeIsolated { LocalWorld.current?.act(self) }
    }
}
