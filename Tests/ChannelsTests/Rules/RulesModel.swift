/// What the guide *Ordering and delivery* says of the listeners of one channel, on one thread: rules 1, 2, 3, 6, 9, 11, 12
/// and 16, adaptors, pausing, patterns and echo. It is as simple as the rules, and knows nothing of how the library does it.
final class RulesModel {
    private struct Listener {
        let script: Script
        /// Those added earlier have smaller ones.
        let place: Int
        /// How many messages each prefix has left.
        var left: [Int]
        var isPaused = false
        var hasEnded = false
        var missed = 0
    }

    private struct Post {
        let value: Int
        let sender: Int?
        let echo: Bool
        let depth: Int
    }

    let setting: Setting
    /// Called for each call of a listener.
    var called: (_ listener: Int, _ value: Int) -> Void = { _, _ in }
    private(set) var refusedPosts = 0
    private(set) var failures = 0
    /// By number.
    private var listeners: [Int: Listener] = [:]
    private var released: Set<Int> = []
    /// How many calls and posts hold each owner.
    private var holds = Array(repeating: 0, count: RulesGenerator.owners)
    /// The depth of each post under way.
    private var underWay: [Int] = []
    private var queue: [Post] = []

    init(_ setting: Setting) { self.setting = setting }

    func isActive(_ number: Int) -> Bool { listeners[number].map { !$0.hasEnded && isAlive($0.script.owner) } ?? false }

    func missed(_ number: Int) -> Int { listeners[number]?.missed ?? 0 }

    var count: Int { listeners.keys.filter { isActive($0) }.count }

    /// Performs a step. Returns what a post returns, otherwise 0.
    func perform(_ step: Step) -> Int {
        switch step {
        case .post(let value, let sender, let echo): return post(value, sender, echo)
        case .add(let script):
            guard script.owner.map({ !released.contains($0) }) ?? true else { break }
            let left = script.adaptations.map { if case .prefix(let count) = $0 { count } else { 0 } }
            listeners[script.number] = Listener(script: script, place: listeners.count, left: left)
        case .cancel(let number): listeners[number]?.hasEnded = true
        case .pause(let number): listeners[number]?.isPaused = true
        case .resume(let number): listeners[number]?.isPaused = false
        case .removeListeners(let owner):
            guard !released.contains(owner) else { break }
            for (number, listener) in listeners where listener.script.owner == owner && !listener.script.isPattern {
                listeners[number]?.hasEnded = true
            }
        case .release(let owner): released.insert(owner)
        }
        return 0
    }

    /// An owner is held while one of its listeners is called, and while it posts. Those whose owner has gone have ended.
    private func isAlive(_ owner: Int?) -> Bool { owner.map { !released.contains($0) || holds[$0] > 0 } ?? true }

    private func hold<Result>(_ owner: Int?, _ body: () -> Result) -> Result {
        if let owner { holds[owner] += 1 }
        defer { letGo(owner) }
        return body()
    }

    private func letGo(_ owner: Int?) {
        guard let owner else { return }
        holds[owner] -= 1
        guard !isAlive(owner) else { return }
        for (number, listener) in listeners where listener.script.owner == owner { listeners[number]?.hasEnded = true }
    }

    /// Rule 9.
    private func post(_ value: Int, _ from: Int?, _ echo: Bool) -> Int {
        let sender = from.flatMap { released.contains($0) ? nil : $0 }
        let post = Post(value: value, sender: sender, echo: echo, depth: (underWay.last ?? 0) + 1)
        guard post.depth == 1 || post.depth <= setting.limit else {
            refusedPosts += 1
            return 0
        }
        guard underWay.isEmpty || !setting.isQueued else {
            if let sender { holds[sender] += 1 }
            queue.append(post)
            return count
        }
        return hold(sender) {
            let reached = deliver(post)
            while underWay.isEmpty, !queue.isEmpty {
                let next = queue.removeFirst()
                _ = deliver(next)
                letGo(next.sender)
            }
            return reached
        }
    }

    /// Rules 1, 2 and 6.
    private func deliver(_ post: Post) -> Int {
        underWay.append(post.depth)
        defer { underWay.removeLast() }
        let present = listeners.values.sorted {
            ($1.script.priority, $0.place) < ($0.script.priority, $1.place)
        }
        return present.filter { hear(post, $0.script) }.count
    }

    /// Rules 11 and 16, and what pauses and adaptors say.
    private func hear(_ post: Post, _ script: Script) -> Bool {
        let number = script.number
        guard isActive(number), post.echo || post.sender == nil || script.owner != post.sender else { return false }
        guard listeners[number]?.isPaused == false else {
            listeners[number]?.missed += 1
            return false
        }
        let (value, isLast) = adapt(post.value, script)
        if isLast || value != nil && script.isOnce { listeners[number]?.hasEnded = true }
        guard let value else { return false }
        hold(script.owner) { called(number, value) }
        if script.fails { failures += 1 }
        return true
    }

    /// What the listener receives, and whether it ends before it does.
    private func adapt(_ value: Int, _ script: Script) -> (Int?, isLast: Bool) {
        var (value, isLast) = (value, false)
        for (index, adaptation) in script.adaptations.enumerated() {
            switch adaptation {
            case .filter(let divisor): if value % divisor == 0 { return (nil, isLast) }
            case .map(let more): value += more
            case .compactMap(let divisor): if value % divisor == 0 { return (nil, isLast) } else { value *= 2 }
            case .prefix:
                listeners[script.number]?.left[index] -= 1
                guard let left = listeners[script.number]?.left[index], left >= 0 else { return (nil, isLast) }
                if left == 0 { isLast = true }
            case .prefixWhile(let limit): if value >= limit { return (nil, true) }
            }
        }
        return (value, isLast)
    }
}
