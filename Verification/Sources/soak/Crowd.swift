import Channels
import Foundation

/// Many posters and listeners of every kind on one channel, while others come, pause, are cancelled and lose
/// their owners.
///
/// Those that stay must get every message; all together must account for what the posts said they reached.
struct Crowd {
    let posters: Int
    let messagesEach: Int
    let listeners: Int
    let reentrancy: Reentrancy
    /// Whether one poster posts on the main actor and off it, instead of the desk.
    let isOnMainActor: Bool
    private static let mostPassing = 5_000

    init(_ plan: Plan, _ random: inout SeededGenerator) {
        posters = Int.random(in: 2...4, using: &random)
        listeners = Int.random(in: 8...24, using: &random)
        messagesEach = plan.messagesEach
        isOnMainActor = random.isOne(in: 2)
        reentrancy = random.isOne(in: 4) ? .queued : .nested(limit: 64)
    }

    func run(_ figures: Figures, _ random: inout SeededGenerator) async throws {
        var channel: Channel<Message>? = Channel(reentrancy: reentrancy, onFault: { _ in figures.faults.add() })
        let desk = Desk()
        var stable: [Listener] = []
        for index in 0..<listeners {
            // Half are called directly, because those are the ones that posts are dearest to.
            let kind =
                index % 2 == 0
                ? [.plain, .owned, .informed, .throwing].randomElement(using: &random)!
                : Kind.allCases.randomElement(using: &random)!
            stable.append(Listener(kind, on: channel!, posters: posters, named: "stays", desk: desk, &random))
        }
        let sequences = [
            Reader(channel!.messages(), "sequence, unbounded", posters),
            Reader(channel!.messages(buffering: .newest(64)), "sequence, newest(64)", posters),
        ]
        let reading = Task {
            await withTaskGroup { group in for reader in sequences { group.addTask { await reader.readAll() } } }
        }
        let (reached, passing) = await postAndChurn(channel!, desk, random.next())

        for listener in stable + passing { try await listener.settle() }
        channel = nil
        await reading.value

        let total = posters * messagesEach
        for listener in stable {
            try listener.checker.checkOrder(mayMiss: listener.kind.isBounded)
            if !listener.kind.isBounded { try listener.checker.checkAllCame(each: messagesEach) }
            try listener.check(posted: total, mayMiss: false)
        }
        for reader in sequences { try reader.check(posted: total) }
        // Those that came late or were paused: what was accepted is known of all together.
        for listener in passing { try listener.check(posted: listener.total, mayMiss: true) }
        let accounted = (stable + passing).reduce(0) { $0 + $1.total } + sequences.count * total
        try stable[0].checker.require(
            reached,
            accounted,
            "messages accounted for by all listeners together, of those that posts reached"
        )
        for listener in stable + passing { figures.add(listener) }
        for reader in sequences { figures.add(reader) }
        figures.posts.add(total)
        withExtendedLifetime((desk, stable, passing)) {}
    }

    /// Posts from every poster, one of them by turns on an actor and off it, while another thread churns. Returns
    /// what posts reached and who passed by.
    private func postAndChurn(_ channel: Channel<Message>, _ desk: Desk, _ seed: UInt64) async -> (Int, [Listener]) {
        let reached = Tally()
        let ended = Tally()
        let passing = Collected<Listener>()
        let onActor = Task {
            let count =
                isOnMainActor
                ? await postOnMainActor(as: 0, messagesEach, on: channel)
                : await desk.post(as: 0, messagesEach, on: channel)
            reached.add(count)
            ended.add()
        }
        await onThreads(posters) { [self] index in
            if index == 0 { return churn(channel, desk, seed, until: { ended.value == posters }, passing) }
            var mine = 0
            for number in 0..<messagesEach { mine += channel.post(Message(poster: index, number: number)) }
            reached.add(mine)
            ended.add()
        }
        await onActor.value
        return (reached.value, passing.all)
    }

    private func churn(
        _ channel: Channel<Message>,
        _ desk: Desk,
        _ seed: UInt64,
        until isOver: () -> Bool,
        _ passing: Collected<Listener>
    ) {
        var random = SeededGenerator(seed: Int(truncatingIfNeeded: seed))
        var present: [Listener] = []
        while !isOver() {
            // Each is kept to the end, for the sum. When there are many, those that are present go on being
            // paused.
            if passing.count >= Self.mostPassing {
                sched_yield()
                for listener in present {
                    if random.isOne(in: 2) { listener.token.pause() } else { listener.token.resume() }
                }
                continue
            }
            if present.count < 8 {
                present.append(
                    Listener(
                        Kind.allCases.randomElement(using: &random)!,
                        on: channel,
                        posters: posters,
                        named: "passes",
                        desk: random.isOne(in: 2) ? desk : nil,
                        &random
                    )
                )
            } else {
                disturb(&present, &random, passing)
            }
        }
        for listener in present { passing.add(listener) }
    }

    private func disturb(_ present: inout [Listener], _ random: inout SeededGenerator, _ passing: Collected<Listener>) {
        let index = present.indices.randomElement(using: &random)!
        switch Int.random(in: 0..<4, using: &random) {
        case 0: present[index].token.pause()
        case 1: present[index].token.resume()
        case 2:
            present[index].token.cancel()
            passing.add(present.remove(at: index))
        default:
            present[index].owner = nil
            // Where there is an owner of its own, it has gone, and the listener with it.
            if present[index].token.isActive { present[index].token.cancel() }
            passing.add(present.remove(at: index))
        }
    }
}

@MainActor
private func postOnMainActor(as poster: Int, _ count: Int, on channel: Channel<Message>) async -> Int {
    await alternate(as: poster, count, on: channel)
}
