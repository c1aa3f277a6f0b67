import Channels

/// Everything that can be listened to: what the forms are tested on.
enum FormSources: CaseIterable {
    case channel, queuedChannel, state, named, typed, matching
    case postsOfChannel, postsOfState, postsOfNamed, postsOfMatching, doubled, postsOfDoubled
    case filtered, mapped, compactMapped, limited, whileTrue, chained, postsOfFiltered, filteredPosts
    case filteredState, partOfState, limitedNamed, mappedTyped, filteredMatching
}

/// A source of the user's own: forwards the listeners it is given, adapted.
struct Doubled<Source: Listenable<Int>>: Listenable {
    let source: Source

    func register(_ listener: consuming Listener<Int>, isolation: isolated (any Actor)?) -> ListenerToken {
        source.register(listener.adapted { (number: Int) in number * 2 }, isolation: isolation)
    }
}

/// One source, whatever its messages: each carries a number.
struct FormSource: Sendable {
    /// How to post a number, from an isolation, and how many listen.
    typealias Target = (post: @Sendable (Int, isolated (any Actor)?) -> Void, count: @Sendable () -> Int)

    /// Registers a listener in a form. See ``ListenForm``.
    let listen:
        @Sendable (
            ListenForm, FormOwners, ListenerPriority, Bool, BufferingPolicy, @escaping @Sendable () async -> Void,
            @escaping @Sendable (Int) throws -> Void
        ) -> ListenerToken
    let messages: @Sendable (BufferingPolicy) -> NumberReader
    let firstWhere: @Sendable (@escaping @Sendable (Int) -> Bool) async -> Int?
    let post: @Sendable (Int, isolated (any Actor)?) -> Void
    let count: @Sendable () -> Int
    /// What faults say that it is.
    let kind: ChannelKind

    init<Source: Listenable>(
        _ source: Source,
        _ target: Target,
        _ kind: ChannelKind = .messages,
        number: @escaping @Sendable (Source.Message) -> Int
    ) {
        listen = { form, owners, priority, once, buffering, later, hear in
            form.listen(to: source, owners, priority: priority, once: once, buffering: buffering, later: later) {
                try hear(number($0))
            }
        }
        messages = { buffering in
            let messages = source.messages(buffering: buffering)
            return NumberReader(droppedCount: { messages.droppedCount }) {
                var iterator = messages.makeAsyncIterator()
                return await iterator.next().map(number)
            }
        }
        firstWhere = { isRight in await source.first { isRight(number($0)) }.map(number) }
        (post, count) = target
        self.kind = kind
    }

    func first(where isRight: @escaping @Sendable (Int) -> Bool) async -> Int? { await firstWhere(isRight) }

    func post(_ numbers: some Sequence<Int>) { for number in numbers { post(number, nil) } }
}

/// The messages of a source as a sequence.
struct NumberReader: Sendable {
    let droppedCount: @Sendable () -> Int
    let next: @Sendable () async -> Int?

    func next(_ count: Int) async -> [Int] {
        var numbers: [Int] = []
        while numbers.count < count, let number = await next() { numbers.append(number) }
        return numbers
    }
}

extension FormSources {
    static let name: ChannelName<Int> = "forms.number"

    /// A source of this kind, on which numbers are posted; a state begins with 0.
    func make(onFault: @escaping FaultHandler = { _ in }) -> FormSource {
        let channel = Channel<Int>(reentrancy: self == .queuedChannel ? .queued : .nested(limit: 64), onFault: onFault)
        let state = StateChannel(0, onFault: onFault)
        let board = Switchboard(onFault: onFault)
        let (named, typed, matching) = (board[Self.name], board[Int.self], board[matching: "forms.*"])
        let toChannel: FormSource.Target = ({ channel.post($0, isolation: $1) }, { channel.listenerCount })
        let toState: FormSource.Target = ({ state.set($0, isolation: $1) }, { state.listenerCount })
        let toNamed: FormSource.Target = ({ named.post($0, isolation: $1) }, { named.listenerCount })
        let toTyped: FormSource.Target = ({ typed.post($0, isolation: $1) }, { typed.listenerCount })
        // A pattern does not keep a channel: it hears those there are.
        let matched: FormSource.Target = (toNamed.post, { named.channel.listenerCount })
        return switch self {
        case .channel, .queuedChannel: FormSource(channel, toChannel) { $0 }
        case .state: FormSource(state, toState, .state) { $0 }
        case .named: FormSource(named, toNamed) { $0 }
        case .typed: FormSource(typed, toTyped) { $0 }
        case .matching: FormSource(matching, matched, .pattern) { $0.message as? Int ?? -1 }
        case .postsOfChannel: FormSource(channel.posts, toChannel) { $0.message }
        case .postsOfState: FormSource(state.posts, toState, .state) { $0.message }
        case .postsOfNamed: FormSource(named.posts, toNamed) { $0.message }
        case .postsOfMatching: FormSource(matching.posts, matched, .pattern) { $0.message.message as? Int ?? -1 }
        case .doubled: FormSource(Doubled(source: channel), toChannel) { $0 / 2 }
        case .postsOfDoubled: FormSource(Doubled(source: channel).posts, toChannel) { $0.message / 2 }
        case .filtered: FormSource(channel.filter { $0 >= 0 }, toChannel) { $0 }
        case .mapped: FormSource(channel.map { "\($0)" }, toChannel) { Int($0) ?? -1 }
        case .compactMapped: FormSource(channel.compactMap { Int("\($0)") }, toChannel) { $0 }
        case .limited: FormSource(channel.prefix(1_000_000), toChannel) { $0 }
        case .whileTrue: FormSource(channel.prefix { $0 >= 0 }, toChannel) { $0 }
        case .chained:
            FormSource(channel.map { $0 * 2 }.filter { $0 >= 0 }.posts.map { $0.message / 2 }, toChannel) { $0 }
        case .postsOfFiltered: FormSource(channel.filter { $0 >= 0 }.posts, toChannel) { $0.message }
        case .filteredPosts: FormSource(channel.posts.filter { $0.message >= 0 }, toChannel) { $0.message }
        case .filteredState: FormSource(state.filter { $0 >= 0 }, toState, .state) { $0 }
        case .partOfState: FormSource(state.map { -$0 }.filter { $0 <= 0 }, toState, .state) { -$0 }
        case .limitedNamed: FormSource(named.prefix(1_000_000), toNamed) { $0 }
        case .mappedTyped: FormSource(typed.map { [$0] }, toTyped) { $0[0] }
        case .filteredMatching: FormSource(matching.compactMap { $0.message as? Int }, matched, .pattern) { $0 }
        }
    }

    /// What a new listener hears before anything is posted.
    var first: [Int] { [.state, .postsOfState, .filteredState, .partOfState].contains(self) ? [0] : [] }

    /// Buffers for two, and which of 1 to 5 they keep. A state takes none that keeps the oldest.
    var policies: [(BufferingPolicy, ArraySlice<Int>)] {
        [(.newest(2), [4, 5])] + (first.isEmpty ? [(.oldest(2), [1, 2])] : [])
    }
}
