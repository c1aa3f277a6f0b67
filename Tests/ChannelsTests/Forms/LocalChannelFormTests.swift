import Channels
import Testing

/// Not Sendable, like everything a local channel is for.
private final class Cell {
    var heard: [String] = []
    var clicks = LocalChannel<Click>()

    func listenToItself() {
        clicks.listen(self) { me, click in me.heard.append("me \(click.count)") }
    }
}

private struct Click {
    var count: Int
    var source: Cell?
}

private actor Counter {
    private let clicks = LocalChannel<Int>()
    private var total = 0

    func listen() {
        // In a variable first: 6.3 does not understand the capture in an argument.
        let body: (Counter, Int) -> Void = { [unowned self] _, number in self.total += number }
        clicks.listen(self, body)
    }

    func post(_ number: Int) -> (count: Int, total: Int) { (clicks.post(number), total) }
}

@MainActor
private final class Screen {
    let clicks = LocalChannel<Int>()
    var title = ""

    func wire() {
        clicks.listen(self) { me, number in me.title += "\(number)" }
        clicks.once(self) { me, number in me.title += "once" }
    }
}

struct LocalChannelFormTests {
    private let clicks = LocalChannel<Click>(onFault: { _ in })
    private let cell = Cell()

    @Test func synchronousForms() {
        clicks.listen(cell) { me, click in me.heard.append("a\(click.count)") }
        clicks.listen(cell, priority: .high) { me, click, info in
            me.heard.append("b\(click.count) \(info.sender === me)")
        }
        clicks.listen(cell, context: Cell(), priority: .low) { me, click, other in
            me.heard.append("c\(click.count) \(other.heard.count)")
        }
        let token = clicks.listen { [cell] click in cell.heard.append("d\(click.count)") }
        let informed = clicks.listen { [cell] click, info in cell.heard.append("e\(click.count) \(info.sender == nil)")
        }
        #expect(clicks.post(Click(count: 1, source: cell), from: cell) == 5)
        #expect(cell.heard == ["b1 true", "a1", "d1", "e1 false", "c1 0"])
        #expect(clicks.post(Click(count: 2), from: cell, echo: false) == 2)
        #expect(cell.heard.suffix(2) == ["d2", "e2 false"])
        withExtendedLifetime((token, informed)) {}
    }

    @Test func throwingForms() {
        clicks.listen(cell) { me, click in
            me.heard.append("a\(click.count)")
            throw FormError()
        }
        clicks.listen(cell, context: 1) { me, click, one in
            me.heard.append("b\(click.count + one)")
            throw FormError()
        }
        clicks.listen(cell) { me, click, info in
            me.heard.append("c\(click.count)")
            throw FormError()
        }
        #expect(clicks.post(Click(count: 1)) == 3)
        #expect(cell.heard == ["a1", "b2", "c1"])
    }

    @Test func onceForms() {
        clicks.once(cell) { me, click in me.heard.append("a\(click.count)") }
        clicks.once(cell, context: "b") { me, click, text in me.heard.append("\(text)\(click.count)") }
        clicks.once(cell, priority: 5) { me, click, info in me.heard.append("c\(click.count)") }
        let token = clicks.once { [cell] click in cell.heard.append("d\(click.count)") }
        #expect(clicks.post(Click(count: 1)) == 4)
        #expect(clicks.post(Click(count: 2)) == 0)
        #expect(cell.heard == ["c1", "a1", "b1", "d1"])
        #expect(!token.isActive)
    }

    @Test func interceptForms() {
        clicks.listen(cell) { me, click in me.heard.append("\(click.count)") }
        clicks.intercept(cell, priority: .high) { _, click in click.count < 0 ? .stop : .continue }
        clicks.intercept(cell) { me, click, info in
            info.sender === me ? .replace(Click(count: click.count * 2)) : .continue
        }
        let token = clicks.intercept { click in .replace(Click(count: click.count + 1)) }
        #expect(clicks.post(Click(count: -1)) == 0)
        #expect(clicks.post(Click(count: 1)) == 1)
        #expect(clicks.post(Click(count: 1), from: cell) == 1)
        #expect(cell.heard == ["2", "3"])
        withExtendedLifetime(token) {}
    }

    @Test func tokensAndCounts() {
        var tokens: Set<LocalListenerToken> = []
        clicks.listen { _ in }.store(in: &tokens)
        let token = clicks.listen(cell) { me, click in me.heard.append("\(click.count)") }
        #expect(clicks.listenerCount == 2)
        token.pause()
        #expect(token.isPaused && token.isActive)
        #expect(clicks.post(Click(count: 1)) == 1)
        token.resume()
        #expect(clicks.post(Click(count: 2)) == 2)
        token.cancel()
        tokens = []
        #expect(!token.isActive)
        #expect(clicks.isEmpty)
        clicks.listen(cell) { _, _ in }
        clicks.removeListeners(of: cell)
        #expect(clicks.post(Click(count: 3)) == 0)
        #expect(cell.heard == ["2"])
    }

    @Test func voidMessages() {
        let ping = LocalChannel<Void>()
        ping.listen(cell) { me, _ in me.heard.append("ping") }
        #expect(ping.post() == 1)
        #expect(ping.post(from: cell, echo: false) == 0)
        #expect(cell.heard == ["ping"])
    }

    @Test func ownersListenToTheirOwnChannels() {
        cell.listenToItself()
        #expect(cell.clicks.post(Click(count: 4)) == 1)
        #expect(cell.heard == ["me 4"])
    }

    @Test func inAnActor() async {
        let counter = Counter()
        await counter.listen()
        let (count, total) = await counter.post(5)
        #expect(count == 1)
        #expect(total == 5)
    }

    @Test func queuedReentrancy() {
        let numbers = LocalChannel<Int>(reentrancy: .queued)
        numbers.listen(cell) { me, number in
            me.heard.append("a\(number)")
            if number == 1 { numbers.post(2) }
        }
        numbers.listen(cell) { me, number in me.heard.append("b\(number)") }
        numbers.post(1)
        #expect(cell.heard == ["a1", "b1", "a2", "b2"])
        // The first listener holds the channel.
        numbers.removeListeners(of: cell)
    }
}

private actor ClickCounter {
    private let clicks = LocalChannel<Int>()
    private let pings = LocalChannel<Void>()
    private(set) var heard: [String] = []

    func listen() {
        clicks.listen(actor: self) { me, number in me.heard.append("a\(number)") }
        clicks.listen(actor: self) { me, number, info in me.heard.append("b\(number)\(info.sender == nil)") }
        clicks.listen(actor: self, context: "c", priority: .low) { me, number, row in me.heard.append("\(row)\(number)")
        }
        clicks.once(actor: self, priority: .high) { me, number in me.heard.append("once\(number)") }
        pings.listen(actor: self) { me in me.heard.append("ping") }
    }

    /// As closures have it without help: through `self`.
    func listenThroughSelf() {
        let clicks = clicks
        clicks.listen(self) { [unowned self] _, number in self.heard.append("self\(number)") }
    }

    func post(_ number: Int) -> Int {
        clicks.post(number) + pings.post()
    }
}

struct LocalChannelInAnActorFormTests {
    @Test func onAnActorThatOwnsTheListener() async {
        let counter = ClickCounter()
        await counter.listen()
        #expect(await counter.post(1) == 5)
        #expect(await counter.post(2) == 4)
        #expect(await counter.heard == ["once1", "a1", "b1true", "c1", "ping", "a2", "b2true", "c2", "ping"])
    }

    @Test func inAnActorThroughSelf() async {
        let counter = ClickCounter()
        await counter.listenThroughSelf()
        #expect(await counter.post(1) == 1)
        #expect(await counter.heard == ["self1"])
    }
}

struct LocalChannelOnTheMainActorFormTests {
    @Test @MainActor func onTheMainActor() {
        let screen = Screen()
        screen.wire()
        #expect(screen.clicks.post(1) == 2)
        #expect(screen.clicks.post(2) == 1)
        #expect(screen.title == "1once2")
    }
}
