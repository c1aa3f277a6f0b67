import Channels

/// Posting by name, among many channels and with patterns.
enum Names {
    static let listeners = [0, 1, 16]

    static var cases: [Case] {
        Case.plain("named-post", listeners, namedPost)
            + Case.plain("named-post-apart", [1], namedPostApart)
            + Case.plain("dictionary-apart", [1], dictionaryApart)
            + Case.plain("named-lookup", [1], namedLookup)
            + Case.plain("run-time-lookup", [1], runTimeLookup)
            + Case.plain("pattern-listeners", listeners, patternListeners)
            + Case.plain("pattern-weak", listeners, patternWeak)
            + Case.plain("pattern-only", [1, 16], patternOnly)
            + Case.plain("other-patterns", listeners, otherPatterns)
    }

    /// A switchboard with 100,000 channels that are held.
    private static let crowd = Crowd(100_000)

    private static func namedPost(_ count: Int) -> (Int) -> Void {
        let board = crowd.board
        // A channel of its own for each number of listeners.
        let name = ChannelName<Int>(stringLiteral: "bench.named.\(count)")
        let channel = board.channel(name)
        let tokens = counters(count).map { counter in channel.listen { counter.add($0) } }
        return { operations in
            for number in 0..<operations { board[name].post(number) }
            withExtendedLifetime((channel, tokens)) {}
        }
    }

    /// Posts to 1,024 names in turn, so that the lookups are not found in the nearest cache.
    private static func namedPostApart(_ count: Int) -> (Int) -> Void {
        let board = crowd.board
        let names = crowd.someNames
        return { operations in for number in 0..<operations { board[names[number & 1_023]].post(number) } }
    }

    /// The same with a dictionary of closures, which is neither safe nor shared by threads.
    private static func dictionaryApart(_ count: Int) -> (Int) -> Void {
        let counter = Counter()
        var listeners: [String: [(Int) -> Void]] = [:]
        for number in 0..<100_000 { listeners["bench.channel.\(number)"] = [{ counter.add($0) }] }
        let names = crowd.someNames.map(\.text)
        return { operations in
            for number in 0..<operations {
                guard let called = listeners[names[number & 1_023]] else { continue }
                for listener in called { listener(number) }
            }
        }
    }

    private static func namedLookup(_ count: Int) -> (Int) -> Void {
        let board = crowd.board
        let name = crowd.someNames[0]
        return { operations in
            for _ in 0..<operations { withExtendedLifetime(board.channel(name)) {} }
        }
    }

    private static func runTimeLookup(_ count: Int) -> (Int) -> Void {
        let board = crowd.board
        let text = crowd.someNames[0].text
        return { operations in
            for _ in 0..<operations { withExtendedLifetime(try? board.channel(text, of: Int.self)) {} }
        }
    }

    private static func patternListeners(_ count: Int) -> (Int) -> Void {
        let board = Switchboard()
        let name: ChannelName<Int> = "shop.checkout"
        let channel = board.channel(name)
        let tokens = counters(count).map { counter in
            board[matching: "shop.*"].listen { post in
                if let number = post.message as? Int { counter.add(number) }
            }
        }
        return { operations in
            for number in 0..<operations { board[name].post(number) }
            withExtendedLifetime((channel, tokens)) {}
        }
    }

    /// The same with weak owners, which do not look at the message: its type is known only when the program runs.
    private static func patternWeak(_ count: Int) -> (Int) -> Void {
        let board = Switchboard()
        let name: ChannelName<Int> = "shop.checkout"
        let channel = board.channel(name)
        let owners = counters(count)
        for owner in owners { board[matching: "shop.*"].listen(owner) { me, _ in me.add(1) } }
        return { operations in
            for number in 0..<operations { board[name].post(number) }
            withExtendedLifetime((channel, owners)) {}
        }
    }

    /// A name that has no listener of its own, by listeners that do not look at the message.
    private static func patternOnly(_ count: Int) -> (Int) -> Void {
        let board = Switchboard()
        let name: ChannelName<Int> = "shop.checkout"
        let tokens = counters(count).map { counter in board[matching: "shop.*"].listen { _ in counter.add(1) } }
        return { operations in
            for number in 0..<operations { board[name].post(number) }
            withExtendedLifetime(tokens) {}
        }
    }

    /// A thousand patterns are registered that do not match.
    private static func otherPatterns(_ count: Int) -> (Int) -> Void {
        let board = Switchboard()
        let name: ChannelName<Int> = "shop.checkout"
        let patterns = (0..<1_000).map {
            board[matching: ChannelPattern(stringLiteral: "other\($0).*")].listen { _ in }
        }
        let channel = board.channel(name)
        let tokens = counters(count).map { counter in channel.listen { counter.add($0) } }
        return { operations in
            for number in 0..<operations { board[name].post(number) }
            withExtendedLifetime((channel, tokens, patterns)) {}
        }
    }
}

/// A switchboard with many channels, each with one listener.
final class Crowd: Sendable {
    let board = Switchboard()
    /// 1,024 of the names, or all of them if there are fewer, over and over; far from each other.
    let someNames: [ChannelName<Int>]
    private let held: [(Channel<Int>, ListenerToken)]

    init(_ count: Int) {
        let board = board
        let counter = Counter()
        var names: [ChannelName<Int>] = []
        held = (0..<count).map { number in
            let name = ChannelName<Int>(stringLiteral: "bench.channel.\(number)")
            names.append(name)
            let channel = board.channel(name)
            return (channel, channel.listen { counter.add($0) })
        }
        someNames = (0..<1_024).map { names[($0 &* 7_919) % count] }
    }
}
