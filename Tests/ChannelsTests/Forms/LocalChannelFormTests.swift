import Channels
import ChannelsTesting
import Testing

/// Not Sendable, like everything a local channel is for.
private final class Cell {
    var heard: [String] = []
}

private actor Counter {
    private let clicks = LocalChannel<Int>(onFault: { _ in })
    private let pings = LocalChannel<Void>()
    private(set) var heard: [String] = []

    func listen() {
        clicks.listen(actor: self) { me, number in me.heard.append("a\(number)") }
        clicks.posts.listen(actor: self) { me, post in me.heard.append("b\(post.message)\(post.sender === me)") }
        clicks.listen(actor: self, priority: .low) { [row = "c"] me, number in
            me.heard.append("\(row)\(number)")
            throw Trouble()
        }
        clicks.listen(actor: self, priority: .high, once: true) { me, number in me.heard.append("once\(number)") }
        pings.listen(actor: self) { me, _ in me.heard.append("ping") }
    }

    /// Through `self`, as 6.3 understands it where the channel is a constant and not a stored property.
    func listenThroughSelf() {
        let local = clicks
        local.listen(self) { [unowned self] _, number in self.heard.append("self\(number)") }
    }

    func post(_ number: Int) -> Int { clicks.post(number, from: self) + pings.post() }
}

struct LocalChannelFormTests {
    private let faults = Recorder<Fault>()
    private let cell = Cell()

    /// The forms but that of an actor, on a channel or its posts.
    private func listen<Source: LocalListenable>(
        to source: Source,
        once: Bool,
        _ count: @escaping (Source.Message) -> Int
    ) -> [LocalListenerToken] {
        [
            source.listen(cell, once: once) { me, message in me.heard.append("a\(count(message))") },
            source.listen(cell, priority: .high, once: once) { _, message in throw Trouble(text: "\(count(message))") },
            source.listen(once: once) { [cell] message in cell.heard.append("b\(count(message))") },
            source.listen(priority: .low, once: once) { message in throw Trouble(text: "\(count(message))") },
        ]
    }

    @Test(arguments: [false, true], [false, true])
    func everyFormHearsMessagesAndPosts(_ posts: Bool, _ once: Bool) {
        let clicks = LocalChannel<Int>(onFault: { [faults] in faults.record($0) })
        let tokens =
            posts ? listen(to: clicks.posts, once: once, \.message) : listen(to: clicks, once: once, \.self)
        #expect(clicks.listenerCount == 4)
        #expect(clicks.post(1) == 4)
        #expect(cell.heard == ["a1", "b1"])
        #expect(faults.all.map { ($0.underlyingError as? Trouble)?.text } == ["1", "1"])
        #expect(faults.all.allSatisfy { $0.channelKind == .local && $0.registrationSite?.fileID == #fileID })
        #expect(tokens.allSatisfy { $0.isActive == !once })
        #expect(clicks.post(2) == (once ? 0 : 4))
        #expect(cell.heard.count == (once ? 2 : 4))
    }

    @Test func postsAreToldWhoPosted() {
        let clicks = LocalChannel<Int>()
        clicks.posts.listen(cell) { me, post in me.heard.append("\(post.message) \(post.sender === me)") }
        #expect(clicks.post(1) == 1)
        #expect(clicks.post(2, from: cell) == 1)
        #expect(clicks.post(3, from: cell, echo: false) == 0)
        #expect(cell.heard == ["1 false", "2 true"])
        #expect(clicks.listenerCount == 1)
    }

    @Test func tokensAndCounts() {
        let clicks = LocalChannel<Int>()
        var tokens = [clicks.listen { _ in }, clicks.listen { _ in }]
        clicks.listen(cell) { _, _ in }
        let token = clicks.listen(cell) { me, click in me.heard.append("\(click)") }
        token.pause()
        #expect(token.isPaused && token.isActive && tokens.allSatisfy(\.isActive))
        #expect(clicks.post(1) == 3)
        token.resume()
        #expect(clicks.post(2) == 4)
        token.cancel()
        tokens = []
        #expect(!token.isActive)
        #expect(clicks.listenerCount == 1)
        clicks.removeListeners(of: cell)
        #expect(clicks.isEmpty)
        #expect(cell.heard == ["2"])
    }

    @Test func messagesOfEveryShapeAndQueuedPosts() {
        let (ping, pairs) = (LocalChannel<Void>(), LocalChannel<(Int, String)>(reentrancy: .queued))
        ping.listen(cell) { me, _ in me.heard.append("ping") }
        let tokens = [
            ping.listen { [cell] in cell.heard.append("token") },
            pairs.listen { [unowned pairs] pair in if pair.0 == 1 { pairs.post((2, "y")) } },
            pairs.listen { [cell] number, text in cell.heard.append("\(number) \(text)") },
        ]
        #expect(ping.post() == 2)
        #expect(ping.post(from: cell, echo: false) == 1)
        #expect(pairs.post((1, "x")) == 2)
        #expect(cell.heard == ["ping", "token", "token", "1 x", "2 y"])
        withExtendedLifetime(tokens) {}
    }
}

struct LocalChannelIsolationFormTests {
    @Test func onAnActorThatOwnsTheListener() async {
        let counter = Counter()
        await counter.listen()
        #expect(await counter.post(1) == 5)
        #expect(await counter.post(2) == 4)
        #expect(await counter.heard == ["once1", "a1", "b1true", "c1", "ping", "a2", "b2true", "c2", "ping"])
        await counter.listenThroughSelf()
        #expect(await counter.post(3) == 5)
        #expect(await counter.heard.suffix(5) == ["a3", "b3true", "self3", "c3", "ping"])
    }

    @Test @MainActor func onTheMainActor() {
        let (view, clicks) = (FormView(), LocalChannel<Int>())
        clicks.listen(view) { me, number in me.hear("\(number)") }
        clicks.listen(view, once: true) { me, _ in me.hear("once") }
        #expect(clicks.post(1) == 2)
        #expect(clicks.post(2) == 1)
        #expect(view.heard == ["1", "once", "2"])
    }
}
