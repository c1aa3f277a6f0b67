import Channels
import ChannelsDiagnostics

/// One listener alone on a channel, so that what posts return is what was accepted for it: the equation holds
/// exactly, whatever is done to it meanwhile.
struct Solo {
    enum Disturbance: String, CaseIterable, Sendable {
        case nothing = "undisturbed"
        case pauses = "paused now and then"
        case cancel = "cancelled"
        case cancelFromInside = "cancels itself"
        case ownerGoes = "owner goes"
        case drain = "drained"
        case channelGoes = "channel goes"
    }

    let kind: Kind
    let disturbance: Disturbance
    let messagesEach: Int
    private static let posters = 2

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        var channel: Channel<Message>? = Channel(onFault: { _ in figures.faults.add() })
        let board = Switchboard()
        if random.isOne(in: 2) {
            board.diagnostics = .counts
            board.watch(channel!, as: "solo")
        }
        var listener = Listener(
            kind,
            on: channel!,
            posters: Self.posters,
            named: disturbance.rawValue,
            desk: nil,
            &random
        )
        let ending = Ending(listener)
        listener.owner = nil
        // In the middle of what the first poster posts.
        let moment = Int.random(in: 0..<messagesEach, using: &random)
        if disturbance == .cancelFromInside {
            listener.checker.whenCalled(moment) { [token = listener.token] in token.cancel() }
        }
        let reached = await post(channel!, ending, at: moment)
        if disturbance == .channelGoes { channel = nil }
        if let calls = await ending.callsWhenDrained() {
            try listener.checker.require(
                calls,
                listener.checker.calls,
                "calls in all, of those begun when cancelAndWait returned"
            )
        }
        try await listener.settle()
        try listener.check(posted: reached, mayMiss: disturbance == .pauses)
        if disturbance == .nothing || disturbance == .channelGoes {
            try listener.checker.require(Self.posters * messagesEach, reached, "messages accepted, of those posted")
        }
        figures.add(listener)
        figures.posts.add(Self.posters * messagesEach)
        withExtendedLifetime((listener, ending, channel)) {}
    }

    private func post(_ channel: Channel<Message>, _ ending: Ending, at moment: Int) async -> Int {
        let reached = Tally()
        await onThreads(Self.posters) { [self] index in
            var mine = 0
            for number in 0..<messagesEach {
                if index == 0 { disturb(ending, at: number, moment) }
                mine += channel.post(Message(poster: index, number: number))
            }
            reached.add(mine)
        }
        return reached.value
    }

    private func disturb(_ ending: Ending, at number: Int, _ moment: Int) {
        if disturbance == .pauses {
            if number % 97 == 13 { ending.token.pause() }
            if number % 97 == 40 { ending.token.resume() }
        }
        guard number == moment else { return }
        switch disturbance {
        case .nothing, .pauses, .cancelFromInside, .channelGoes: break
        case .cancel: ending.token.cancel()
        case .ownerGoes: ending.letOwnerGo()
        case .drain: ending.drain()
        }
    }
}

/// What ends a listener.
private final class Ending: Sendable {
    let token: ListenerToken
    private let checker: Checker
    private let owner: Locked<(any AnyObject & Sendable)?>
    private let draining = Locked<Task<Int, Never>?>(nil)

    init(_ listener: Listener) {
        token = listener.token
        checker = listener.checker
        owner = Locked(listener.owner)
    }

    func letOwnerGo() {
        let gone = owner.withLock { owner in
            defer { owner = nil }
            return owner
        }
        withExtendedLifetime(gone) {}
    }

    func drain() {
        checker.linger()
        let task = Task { [token, checker] in
            await token.cancelAndWait()
            return checker.calls
        }
        draining.withLock { $0 = task }
    }

    func callsWhenDrained() async -> Int? {
        await draining.withLock { $0 }?.value
    }
}
