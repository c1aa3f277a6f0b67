import Channels
import ChannelsTesting
import Testing

/// What both kinds of channels have, so that one test asks both.
private protocol Interceptable<Message>: Listenable {
    func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority,
        fileID: StaticString,
        line: UInt,
        _ body: @escaping @Sendable (Owner, Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken
    func intercept(
        priority: ListenerPriority,
        fileID: StaticString,
        line: UInt,
        _ body: @escaping @Sendable (Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken
}

extension Interceptable {
    @discardableResult
    fileprivate func intercept<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        _ body: @escaping @Sendable (Owner, Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken { intercept(owner, priority: priority, fileID: #fileID, line: #line, body) }

    fileprivate func intercept(
        priority: ListenerPriority = .normal,
        _ body: @escaping @Sendable (Posted<Message>) throws -> Interception<Message>
    ) -> ListenerToken { intercept(priority: priority, fileID: #fileID, line: #line, body) }
}

extension Channel: Interceptable {}
extension NamedChannel: Interceptable {}

/// Both forms of `intercept`, on everything that can be intercepted.
struct InterceptFormTests {
    private let owner = FormListener()
    private let channel = Channel<Int>(onFault: { _ in })
    private let faults = Recorder<Fault>()

    enum Kind: CaseIterable { case channel, named, typed }

    private func make(_ kind: Kind) -> (any Interceptable<Int>, post: @Sendable (Int, FormListener?) -> Int) {
        let handler: FaultHandler = { [faults] in faults.record($0) }
        let (board, channel) = (Switchboard(onFault: handler), Channel<Int>(onFault: handler))
        let named = kind == .named ? board[FormSources.name] : board[Int.self]
        return kind == .channel
            ? (channel, { channel.post($0, from: $1) }) : (named, { named.post($0, from: $1) })
    }

    @Test(arguments: Kind.allCases)
    func interceptorsContinueReplaceAndStop(_ kind: Kind) {
        let (source, post) = make(kind)
        source.listen(owner) { me, number in me.hear("\(number)") }
        let token = source.intercept(owner, priority: .high) { _, post in
            switch post.message {
            case ..<0: .stop
            case 0..<10: .replace(post.message * 10)
            default: .continue
            }
        }
        var other: ListenerToken? = source.intercept { post in post.message == 11 ? .replace(12) : .continue }
        #expect(post(-1, nil) == 0)
        #expect(post(2, nil) == 1)
        #expect(post(11, nil) == 1)
        #expect(other?.isActive == true)
        other = nil
        token.cancel()
        #expect(post(-1, nil) == 1)
        #expect(post(11, nil) == 1)
        #expect(owner.heard.all == ["20", "12", "-1", "11"])
    }

    @Test(arguments: Kind.allCases)
    func interceptorsAreToldWhoPostedAndMayThrow(_ kind: Kind) {
        let (source, post) = make(kind)
        source.listen(owner) { me, number in me.hear("\(number)") }
        source.intercept(owner) { me, post in post.sender === me ? .replace(post.message * 2) : .continue }
        // Those that throw let the message go on.
        source.intercept(owner) { _, _ in throw Trouble() }
        let tokens = [
            source.intercept(priority: .low) { post in post.sender == nil ? .stop : .continue },
            source.intercept(priority: .high) { post in
                #expect(post.channelName == (kind == .named ? "forms.number" : nil))
                throw Trouble()
            },
        ]
        #expect(post(1, owner) == 1)
        #expect(post(1, FormListener()) == 1)
        #expect(post(1, nil) == 0)
        #expect(owner.heard.all == ["2", "1"])
        #expect(faults.all.map(\.code) == Array(repeating: .listenerThrew, count: 6))
        withExtendedLifetime(tokens) {}
    }

    @Test @MainActor func actorsAndMainActorObjectsOwnInterceptorsWithoutIsolation() {
        let (view, actor) = (FormView(), FormActor())
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.intercept(view) { _, post in .replace(post.message + 1) }
        channel.intercept(actor) { _, post in .replace(post.message * 2) }
        #expect(channel.post(1) == 1)
        #expect(channel.listenerCount == 1)
        channel.removeListeners(of: view)
        channel.post(1)
        #expect(owner.heard.all == ["4", "2"])
        withExtendedLifetime(actor) {}
    }

    @Test func interceptionsOfEquatableMessagesAreEquatable() {
        #expect(Interception<Int>.continue == .continue && Interception<Int>.stop != .continue)
        #expect(Interception.replace(1) == .replace(1) && Interception.replace(1) != .replace(2))
    }
}
