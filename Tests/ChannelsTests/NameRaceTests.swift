import Channels
import ChannelsDiagnostics
import Testing

/// Names that are looked up and posted to, without a lock, while others come, go and change their type.
struct NameRaceTests {
    private static let names = (0..<6).map { "race.name-\($0)" }

    /// Each thread uses names shared by all, as one type or another, and one of its own: there it hears what
    /// it posts, however much comes and goes beside it. Nothing is left behind.
    @Test(arguments: Seed.first(60))
    func postsByNameFindWhatIsThereWhileNamesComeAndGo(seed: Seed) async {
        let living = Tally()
        do {
            let board = Switchboard(onFault: { _ in })
            await onThreads(3) { index in
                var random = SeededGenerator(seed: seed.number * 3 + index)
                var kept: [ListenerToken] = []
                for round in 0..<60 { step(round, index, board, living, &random, &kept) }
            }
            #expect(living.value == 0)
        }
        #expect(living.value == 0)
    }

    private func step(
        _ round: Int,
        _ thread: Int,
        _ board: Switchboard,
        _ living: Tally,
        _ random: inout SeededGenerator,
        _ kept: inout [ListenerToken]
    ) {
        let text = Self.names.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<8, using: &random) {
        case 0...1:
            guard let channel = try? board.channel(text, of: Int.self) else { break }
            kept.append(channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} })
        case 2:
            guard let channel = try? board.channel(text, of: String.self) else { break }
            kept.append(channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} })
        case 3: board.removeChannel(named: text)
        case 4: if !kept.isEmpty { kept.remove(at: .random(in: 0..<kept.count, using: &random)).cancel() }
        case 5: _ = try? board.channel(text, of: Int.self).post(round)
        case 6: _ = try? board.channel(text, of: [Int].self).post([round])
        default: kept.removeAll()
        }
        // A new name: what is in the way in the table is moved for it, and back again.
        guard let own = try? ChannelName<Int>(validating: "race.own-\(thread)-\(round)") else { return }
        #expect(board[own].post(1) == 0)
        let heard = Tally()
        let token = board[own].listen { [witness = Witness(living)] in
            heard.add($0)
            withExtendedLifetime(witness) {}
        }
        #expect(board[own].post(2) == 1)
        #expect(heard.value == 2)
        token.cancel()
        #expect(board[own].post(4) == 0)
        #expect(heard.value == 2)
    }

    /// Two threads post by one name while a third ends its listeners, and with them the channel, and listens
    /// anew: a post hears of all or of none, and nothing is left behind.
    @Test(arguments: Seed.first(20))
    func twoThreadsMayPostByANameWhoseChannelComesAndGoes(seed: Seed) async {
        let board = Switchboard()
        let name: ChannelName<Int> = "race.comes-and-goes"
        let living = Tally()
        let heard = Tally()
        let reached = Tally()
        let isOver = Tally()
        await onThreads(3) { index in
            guard index == 2 else {
                for number in 0..<1_000 { reached.add(board[name].post(number)) }
                isOver.add()
                return
            }
            var random = SeededGenerator(seed: seed.number)
            while isOver.value < 2 {
                let token = board[name].listen { [witness = Witness(living)] _ in
                    heard.add()
                    withExtendedLifetime(witness) {}
                }
                if Bool.random(using: &random) { board.removeChannel(name) }
                token.cancel()
            }
        }
        #expect(heard.value == reached.value)
        #expect(living.value == 0)
    }

    @Test func whatAPostByNameUsesIsFreedAtItsEnd() {
        let board = Switchboard()
        let name: ChannelName<Int> = "race.ends"
        let living = Tally()
        let seen = Tally()
        weak var channel: Channel<Int>?
        func listen() -> ListenerToken {
            let found = board.channel(name)
            channel = found
            return found.listen { [witness = Witness(living)] _ in
                #expect(board.removeChannel(name))
                onAnotherThread { board[name].post(2) }
                seen.set(living.value)
                withExtendedLifetime(witness) {}
            }
        }
        let token = listen()
        #expect(board[name].post(1) == 1)
        #expect(seen.value == 1)
        #expect(channel == nil)
        #expect(living.value == 0)
        withExtendedLifetime(token) {}
    }

    @Test func aPostKeepsAChannelWhoseNameIsRemovedUntilItEnds() async {
        let board = Switchboard()
        let name: ChannelName<Int> = "race.elsewhere"
        let living = Tally()
        let steps = Tally()
        let heard = Tally()
        let tokens = (0..<2).map { _ in
            board[name].listen { [witness = Witness(living)] _ in
                if heard.add() == 0 {
                    steps.add()
                    steps.spin(until: 2)
                }
                withExtendedLifetime(witness) {}
            }
        }
        await onThreads(2) { index in
            if index == 0 {
                #expect(board[name].post(1) == 2)
            } else {
                steps.spin(until: 1)
                #expect(board.removeChannel(name))
                #expect(living.value == 2)
                steps.add()
            }
        }
        #expect(heard.value == 2)
        #expect(living.value == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    /// More than a thread has slots for.
    @Test func postsByNameNestAsDeepAsOthers() async throws {
        let board = Switchboard()
        let depth = 100
        let names = try (0..<depth).map { try ChannelName<Int>(validating: "race.deep-\($0)") }
        let heard = Tally()
        let tokens = (0..<depth).map { index in
            board[names[index]].listen { message in
                heard.add()
                if index + 1 < depth { #expect(board[names[index + 1]].post(message) == 1) }
                board.removeChannel(names[index])
            }
        }
        await onThreads(1) { _ in #expect(board[names[0]].post(1) == 1) }
        #expect(heard.value == depth)
        #expect(board.snapshot().channels.isEmpty)
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    /// While a pattern is entered in many channels, they lose their names. A channel that has lost its name does not keep
    /// the pattern, and the next channel of the name has it, also where it takes the memory of a former one.
    @Test(arguments: Seed.first(10), [false, true])
    func aPatternDoesNotStayWithChannelsThatLoseTheirNamesWhileItIsAdded(seed: Seed, finishes: Bool) async throws {
        let board = Switchboard()
        let names = try (0..<300).map { try ChannelName<Int>(validating: "race.lost-\($0)") }
        let hold = Locked<[Channel<Int>]>(names.map { board[$0].channel })
        let token = Locked<ListenerToken?>(nil)
        await onThreads(2) { index in
            guard index == 0 else {
                let added = board[matching: "race.*"].listen { _ in }
                return token.withLock { $0 = added }
            }
            var random = SeededGenerator(seed: seed.number)
            let channels = hold.withLock { $0 }
            for number in names.indices.shuffled(using: &random) {
                if finishes { channels[number].finish() } else { board.removeChannel(names[number]) }
            }
        }
        #expect(hold.withLock { $0 }.allSatisfy { $0.post(1) == 0 })
        hold.withLock { $0 = [] }
        #expect(names.allSatisfy { board[$0].channel.post(1) == 1 })
        withExtendedLifetime(token) {}
    }
}
