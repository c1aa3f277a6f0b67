import Channels
import Dispatch
import Testing

extension FormView {
    fileprivate func wire(_ board: Switchboard) {
        board.listen(self, matching: "shop.>") { me, name, message in me.hear("\(name) \(message)") }
    }
}

struct PatternFormTests {
    let board = Switchboard(onFault: { _ in })
    let owner = FormListener()

    @Test func ownerlessForms() {
        let log = FormLog<String>()
        let one = board.listen(matching: "shop.*") { name, message in log.add("one \(name) \(message)") }
        let rest = board.listen(matching: "shop.>", priority: .high) { name, message in
            log.add("rest \(name) \(message)")
        }
        #expect(board.post(1, to: "shop.a") == 2)
        #expect(board.post("text", to: "shop.a.b") == 1)
        #expect(board.post(2, to: "shop") == 0)
        #expect(log.all == ["rest shop.a 1", "one shop.a 1", "rest shop.a.b text"])
        one.cancel()
        #expect(board.post(3, to: "shop.a") == 1)
        withExtendedLifetime(rest) {}
    }

    @Test func ownedForms() async {
        let queue = DispatchQueue(label: "forms")
        let view = FormView()
        let actor = FormActor()
        await view.wire(board)
        board.listen(owner, matching: "shop.*") { me, name, message in me.hear("a \(name) \(message as? Int ?? 0)") }
        board.listen(owner, matching: "shop.*") { me, name, _ in try me.hearOrThrow("b \(name)") }
        board.listen(owner, matching: "shop.*") { me, name, _ in await me.hearLater("c \(name)") }
        board.listen(owner, matching: "*.x", on: queue) { me, name, _ in
            dispatchPrecondition(condition: .onQueue(queue))
            me.hear("d \(name)")
        }
        board.listen(actor, matching: ">") { (me: isolated FormActor, name, message) in me.hear("\(name) \(message)") }
        let report = await board.postAndWait(7, to: "shop.x")
        #expect(report.reached == 6)
        #expect(report.failures.count == 1)
        #expect(owner.heard.all.sorted() == ["a shop.x 7", "b shop.x", "c shop.x", "d shop.x"])
        #expect(await view.heard == ["shop.x 7"])
        #expect(await actor.heard == ["shop.x 7"])
    }

    @Test func patternListenersHearStatesAndDirectPostsAndNotRequests() async throws {
        board.listen(owner, matching: "shop.*") { me, name, message in me.hear("\(name) \(message)") }
        let channel = board.channel(ChannelName<Int>("shop.a"))
        #expect(channel.post(1) == 1)
        let state = board.state("shop.state", initial: 1)
        state.set(2)
        let requests = board.requests(RequestName<Int, Int>("shop.ask"))
        requests.respond(owner) { _, number in number }
        #expect(try await requests.ask(1) == 1)
        #expect(owner.heard.all.first == "shop.a 1")
        #expect(owner.heard.all.last == "shop.state 2")
        #expect(!owner.heard.all.contains { $0.hasPrefix("shop.ask") })
    }

    @Test func patternsMatchAsInNATSSubjects() throws {
        let cases: [(String, String, Bool)] = [
            ("shop.*", "shop.a", true), ("shop.*", "shop", false), ("shop.*", "shop.a.b", false),
            ("shop.>", "shop.a.b", true), ("shop.>", "shop", false), (">", "a", true), (">", "a.b.c", true),
            ("*", "a", true), ("*", "a.b", false), ("*.b", "a.b", true), ("a.*.c", "a.b.c", true),
            ("a.*.c", "a.b.d", false),
            ("a.b", "a.b", true), ("a.b", "a.b.c", false), ("a.b.c", "a.b", false), ("a.*.>", "a.b", false),
            ("a.*.>", "a.b.c.d", true),
        ]
        for (pattern, name, matches) in cases {
            #expect(try ChannelPattern(validating: pattern).matches(name) == matches, "\(pattern) \(name)")
        }
        let literal: ChannelPattern = "shop.*"
        #expect(literal.text == "shop.*")
    }
}
