import Channels
import ChannelsBridge
import TestSupport

/// One process of a ``History``: a switchboard with a bridge, and what its listeners have heard.
final class Process: @unchecked Sendable {  // used by one thread
    /// How often a message has failed since so many letters of it were stored.
    private struct Failures {
        let letters: Int
        let count: Int
    }

    enum Life { case running, ending, ended, killed }

    private unowned let history: History
    let place: Int
    /// Which of the processes that ever were.
    let number: Int
    let wire: Wire
    private(set) var bridge: Bridge!
    let board: Switchboard
    private(set) var life = Life.running
    private var run: Task<Void, Never>?
    private var tokens: [ListenerToken] = []
    /// A listener that comes and goes.
    private var observer: ListenerToken?

    private var named = 0
    private var posted = 0
    /// The durable messages that the bridge has accepted.
    private(set) var accepted: [String] = []
    /// How often it has run again.
    private var runs = 0
    /// Of earlier runs: how much the broker has acknowledged after they had given up, what they have lost, and their faults.
    private(set) var before = (late: 0, losses: 0, faults: 0)
    /// What its listeners have posted in vain.
    private(set) var refused: [String] = []
    /// Whether there may be no room for what is posted.
    let hasSmallBuffer: Bool
    private var running: [String: Int] = [:]
    /// By durable name: what its listeners have finished, and how often they have failed since the last letter.
    private var completed: [String: Set<String>] = [:]
    private var failures: [String: [String: Failures]] = [:]
    /// By channel and poster: the number of the last message that was heard at its first delivery.
    private var last: [String: [Int: Int]] = [:]
    /// The value that it has last set, by state.
    private(set) var beats = 0

    var name: String { Self.roles[place] }
    var label: String { "\(name).\(number)" }
    static let roles = ["till", "kitchen", "kitchen"]

    init(_ history: History, _ place: Int) {
        (self.history, self.place) = (history, place)
        hasSmallBuffer = history.chance(6)
        number = history.former.count
        let faults = Tally()
        board = Switchboard(onFault: { _ in faults.add() })
        wire = Wire(history, "\(Self.roles[place]).\(number)")
        history.former.append(self)
        self.countFaults = { faults.value }
        bridge = Bridge(
            name,
            switchboard: board,
            transport: wire,
            routes: Self.routes(history.plan),
            configuration: configuration()
        ) { [weak self] letter in await self?.takes(letter) }
        listen()
        history.note("\(label) starts")
        start()
    }

    private func start() {
        run = Task { [self] in
            var problem: BridgeError?
            do { try await bridge.run() } catch { problem = error as? BridgeError }
            ends(problem)
        }
    }

    /// Runs its bridge once more.
    func startAgain() {
        history.note("\(label) runs again")
        life = .running
        (accepted, refused) = ([], [])
        runs += 1
        before = (wire.counts.sent - bridge.statistics.sent, bridge.statistics.losses, faultCount)
        (completed, failures) = ([:], [:])
        start()
    }

    private var countFaults: () -> Int = { 0 }
    var faultCount: Int { countFaults() }

    private static func routes(_ plan: History.Plan) -> [BridgeRoute] {
        var routes: [BridgeRoute] = [
            .outgoing(.asked, durable: true), .incoming(.asked, as: .hearAsked, durable: true),
            .outgoing(.done, durable: true), .incoming(.done, as: .hearDone, durable: true),
        ]
        if plan.hasPlain { routes.append(.both(.noted)) }
        if plan.hasStates { routes.append(.both(state: .menu, initial: Word(text: "none"))) }
        if plan.hasPatterns { routes.append(.both(statesMatching: "beat.*", of: Int.self)) }
        if plan.hasRequests { routes += [.asking(.twice), .answering(.twice)] }
        return routes
    }

    private func configuration() -> BridgeConfiguration {
        BridgeConfiguration(
            buffer: .init(messages: hasSmallBuffer ? 32 : 1_024),
            prefetchLimit: history.number(1...8),
            // Where a broker is full, a later message may be stored first.
            unacknowledgedLimit: history.plan.isSmall ? 1 : history.number(1...6),
            failureLimit: history.plan.failureLimit,
            deliveryLimit: history.chance(4) ? 6 : 100,
            listenerTimeout: history.plan.timeout,
            backoff: Backoff(limit: .seconds(history.number(1...20))),
            clock: history.clock
        )
    }

    // MARK: Its life

    /// Ends gracefully.
    func end() {
        guard life == .running else { return }
        history.note("\(label) ends")
        life = .ending
        run?.cancel()
    }

    func kill() async {
        guard life != .killed, life != .ended else { return }
        history.note("\(label) is killed")
        life = .killed
        await wire.cut()
        run?.cancel()
    }

    private func ends(_ problem: BridgeError?) {
        guard life != .killed else { return }
        history.note("\(label) has ended\(problem.map { ": \($0.code)" } ?? "")")
        history.check(life == .ending, "\(label) ends by itself: \(problem.map { "\($0)" } ?? "no reason")")
        life = .ended
        history.hasEnded(self, problem)
    }

    /// Whether nothing of it waits for anything.
    var isAtRest: Bool {
        let statistics = bridge.statistics
        guard life == .running, bridge.status.value.isReady, wire.isAtRest, running.values.allSatisfy({ $0 == 0 })
        else {
            return false
        }
        return statistics.waitingToSend == 0 && statistics.waitingToDeliver == 0
    }

    func value(of state: String) -> String {
        if state == "shop.menu" { return board.state(.menu, initial: Word(text: "none")).value.text }
        return board.state(ifMade: state, of: Int.self).map { "\($0.value)" } ?? "none"
    }

    var isRunning: Bool { life == .running }
    var hasEnded: Bool { life == .ended }
    var isOver: Bool { life == .ended || life == .killed }

    // MARK: What it says

    func post(to name: ChannelName<Word>, waits: Bool) {
        guard !isOver else { return }
        history.pending += 1
        Task { [self] in
            defer { history.pending -= 1 }
            guard !isOver else { return }
            let text = nextText()
            history.note("\(label) posts \(text) to \(name.text)")
            // What does not fit into the broker is refused.
            let message = Word(text: history.chance(30) ? text + String(repeating: "x", count: 400) : text)
            guard waits else { return said(message, name, board[name].post(message)) }
            let report = await board[name].postAndWait(message)
            let isAcknowledged = report.isComplete && report.reachedCount == 2
            said(message, name, isAcknowledged ? 2 : 0)
            guard isAcknowledged, name != .noted, life != .killed else { return }
            // "A durable message … is published again until it is acknowledged", and `postAndWait` returns then.
            history.check(history.messages[text]?.isStored == true, "\(text) was acknowledged, and is not stored")
        }
    }

    private func nextText() -> String {
        named += 1
        let text = "\(name)\(number)-\(named)"
        history.messages[text] = History.Message(poster: number)
        return text
    }

    /// - Parameter reached: How many listeners: besides the one of the test, the route.
    private func said(_ message: Word, _ name: ChannelName<Word>, _ reached: Int) {
        guard name != .noted, reached == 2, message.text.utf8.count < 100 else { return }
        accepted.append(message.text)
    }

    func set() {
        guard isRunning else { return }
        beats += 1
        if history.plan.hasStates, history.chance(2) {
            let text = "\(name)\(number)-menu\(beats)"
            history.note("\(label) sets the menu to \(text)")
            board.state(.menu, initial: Word(text: "none")).set(Word(text: text))
        } else if history.plan.hasPatterns {
            let state = StateName<Int>(stringLiteral: "beat.\(history.chance(3) ? 0 : place)")
            history.note("\(label) sets \(state.text) to \(number * 100 + beats)")
            board.state(state, initial: 0).set(number * 100 + beats)
        }
    }

    func ask() {
        guard history.plan.hasRequests, isRunning else { return }
        let question = history.number(1...100)
        history.note("\(label) asks \(question)")
        history.pending += 1
        Task { [self] in
            defer { history.pending -= 1 }
            let answer = try? await board.requests(.twice).ask(question)
            history.check(answer == nil || answer == question * 2, "the answer to \(question) is \(answer!)")
        }
    }

    /// A listener begins or ends to look on.
    func toggleObserver() {
        guard isRunning else { return }
        history.note("\(label): an observer \(observer == nil ? "comes" : "goes")")
        if let observer {
            observer.cancel()
            self.observer = nil
        } else {
            observer = board[.hearAsked].listen { [history] _ in await history.turns(upTo: 3) }
        }
    }

    // MARK: What it hears

    private func listen() {
        for name in [ChannelName.asked, .done, .noted] {
            tokens.append(
                board[name].posts.listen { [weak self] post in
                    guard let self, post.origin == .local else { return }
                    posted += 1
                    history.messages[post.message.text]?.number = posted
                }
            )
        }
        tokens.append(board[.hearAsked].posts.listen { [weak self] post in try await self?.hear(post, "asked") })
        tokens.append(board[.hearDone].posts.listen { [weak self] post in try await self?.hear(post, "done") })
        if history.plan.hasPlain { tokens.append(board[.noted].posts.listen { [weak self] post in self?.note(post) }) }
        guard history.plan.hasRequests else { return }
        tokens.append(
            board.requests(.twice).respond { [weak self] number in
                await self?.history.turns(upTo: 4)
                return number * 2
            }
        )
    }

    /// Messages that are not durable: each once, in order per poster.
    private func note(_ post: Posted<Word>) {
        guard life != .killed, post.origin != .local, let message = history.messages[post.message.text] else { return }
        let before = last["noted"]?[message.poster] ?? 0
        history.check(
            before < message.number,
            "\(label) hears \(post.message.text) after number \(before) of its poster (Order is kept among messages)"
        )
        last["noted", default: [:]][message.poster] = message.number
    }

    private func hear(_ post: Posted<Word>, _ channel: String) async throws {
        let (text, key) = (post.message.text, "\(name) \(channel)")
        guard life != .killed, let delivery = post.delivery, history.messages[text] != nil else { throw Trouble() }
        history.check(life != .ended || history.plan.timeout != nil, "\(label) hears \(text), and has ended")
        history.note("\(label) \(channel) hears \(text), attempt \(delivery.attempt)")
        begins(text, key, delivery)
        let former = runs
        running[key, default: 0] += 1
        history.check(running[key] == 1, "\(label) hears two messages of \(key) at a time (A route delivers one)")
        defer { running[key, default: 0] -= 1 }
        let fails = await handles(text, channel)
        // It was killed meanwhile: nothing that it does counts.
        guard life != .killed else { throw Trouble() }
        if fails {
            history.note("\(label) \(channel) fails \(text)")
            let letters = history.fates[key]?[text]?.letters ?? 0
            let count = failures[key]?[text].map { $0.letters == letters ? $0.count : 0 } ?? 0
            failures[key, default: [:]][text] = Failures(letters: letters, count: count + 1)
            throw Trouble()
        }
        // What an earlier run has begun, and could not wait for, is delivered again.
        if former == runs { completed[key, default: []].insert(text) }
        history.fates[key, default: [:]][text, default: History.Fate()].completed += 1
    }

    /// Returns whether it fails.
    private func handles(_ text: String, _ channel: String) async -> Bool {
        guard !history.isCalm else { return history.isPoison(text) }
        await history.turns(upTo: 4)
        switch history.number(1...12) {
        case 1: try? await history.clock.sleep(for: .milliseconds(history.number(1...20_000)))
        case 2, 3: return !history.plan.isSmall
        case 4 where channel == "asked": postOn()
        default: break
        }
        return history.isPoison(text)
    }

    /// What a listener posts, also while its process ends.
    private func postOn() {
        guard life != .killed else { return }
        let text = nextText()
        history.note("\(label) posts \(text) from its listener")
        let message = Word(text: text)
        let reached = board[.done].post(message)
        said(message, .done, reached)
        if reached < 2 { refused.append(text) }
    }

    /// What is promised of a message that is about to be heard.
    private func begins(_ text: String, _ key: String, _ delivery: RemoteDelivery) {
        var (message, fate) = (history.messages[text]!, history.fates[key]?[text] ?? History.Fate())
        // Durable: "reaches every durable name"; delivered twice "after a listener has failed", and not else.
        if fate.isSettled, !fate.isDisturbed, fate.letters == 0, history.plan.timeout == nil {
            history.fail("\(label) \(key) hears \(text), which was settled, again")
        }
        // "Duplicates are filtered among at least the last 16,384 messages of a route".
        if completed[key]?.contains(text) == true, fate.letters == 0, history.plan.timeout == nil {
            history.fail("\(label) \(key) hears \(text) again, which it had finished")
        }
        // "After failureLimit failures in one process, the message becomes a DeadLetter."
        let known = failures[key]?[text] ?? Failures(letters: 0, count: 0)
        // What was delivered again although it had a letter may be there twice once that is put back.
        if known.letters == fate.letters, known.count >= history.plan.failureLimit, !wire.hasFailedLetters,
            !(fate.isDisturbed && fate.letters > 0), history.plan.timeout == nil
        {
            history.fail("\(label) \(key) hears \(text) after \(history.plan.failureLimit) failures")
        }
        // "with the same delivery?.id in its Posted", and through letters the "time … of the original message".
        history.check(
            message.id ?? delivery.id == delivery.id,
            "\(label) \(key) hears \(text) with the identifier \(delivery.id), before it was \(message.id ?? "")"
        )
        history.check(
            message.seconds ?? delivery.secondsSince1970 == delivery.secondsSince1970,
            "\(label) \(key) hears \(text) with another time"
        )
        (message.id, message.seconds) = (delivery.id, delivery.secondsSince1970)
        history.messages[text] = message
        // "Each process receives its messages in order, except for those that have failed, or that a killed process
        // held."
        if delivery.attempt == 1, fate.letters == 0 {
            let before = last[key]?[message.poster] ?? 0
            history.check(
                before < message.number || fate.isDisturbed,
                "\(label) \(key) hears \(text) after number \(before) of its poster"
            )
            last[key, default: [:]][message.poster] = max(before, message.number)
        }
        fate.heard += 1
        history.fates[key, default: [:]][text] = fate
    }

    /// A message becomes a letter.
    private func takes(_ letter: DeadLetter) async {
        guard life != .killed else { return }
        let text = History.text(of: letter.message)
        let key = History.name(name, letter.message.subject)
        history.note("\(label) makes a letter of \(text) for \(key): \(letter.error.detail ?? "")")
        let count = failures[key]?[text]?.count ?? 0
        history.fates[key]?[text]?.isSettled = false
        let isLate = history.plan.timeout != nil
        guard letter.error.detail?.contains("listeners failed") == true, !isLate else { return }
        // With this one.
        let isTwice = history.fates[key]?[text].map { $0.isDisturbed && $0.letters > 1 } ?? false
        history.check(
            count >= history.plan.failureLimit || isTwice,
            "\(text) is a letter of \(key) after \(count) failures"
        )
    }
}
