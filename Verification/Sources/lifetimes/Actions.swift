import Channels
import ChannelsDiagnostics
import Dispatch
import Synchronization

/// A board and some channels, and what a seed does with them: `act` is called from every place where user code runs.
///
/// Whatever is taken out of the storage is released without its lock, since releasing it runs user code.
final class World: Sendable {
    /// The world of the current seed. `==` of messages has no other way to it.
    static let current = Mutex<World?>(nil)
    /// How many probes there are, in all worlds.
    static let probes = Atomic<Int>(0)

    struct Storage {
        var generator: SeededGenerator
        /// How many actions are left; bounds what follows from what.
        var budget: Int
        var channels: [Channel<Message>]
        var state: StateChannel<Message>?
        var observers: ProtocolChannel<any Observer>?
        var requests: RequestChannel<Message, Int>?
        var board: Switchboard?
        var tokens: [ListenerToken] = []
        var owners: [Owner] = []
        var sequences: [MessageSequence<Message>] = []
        var instruments: [InstrumentToken] = []
        var tasks: [Task<Void, Never>] = []
    }

    let storage: Mutex<Storage>
    let queue = DispatchQueue(label: "lifetimes")
    /// How many actions were performed.
    let count = Atomic<Int>(0)

    init(_ seed: Int) {
        storage = Mutex(Storage(generator: SeededGenerator(seed: seed), budget: 300, channels: []))
    }

    func random(_ count: Int) -> Int { storage.withLock { Int.random(in: 0..<count, using: &$0.generator) } }

    /// Replaces a value of the storage, and releases the former one without the lock.
    func put<Value: Sendable>(_ path: WritableKeyPath<Storage, Value>, _ value: Value) {
        var former = value
        storage.withLock { swap(&$0[keyPath: path], &former) }
        withExtendedLifetime(former) {}
    }

    /// Removes one of the elements, if there is one.
    func remove<Element: Sendable>(_ path: WritableKeyPath<Storage, [Element]>) -> Element? {
        storage.withLock { storage in
            guard !storage[keyPath: path].isEmpty else { return nil }
            let index = Int.random(in: 0..<storage[keyPath: path].count, using: &storage.generator)
            return storage[keyPath: path].remove(at: index)
        }
    }

    func add<Element: Sendable>(_ path: WritableKeyPath<Storage, [Element]>, _ element: Element) {
        storage.withLock { $0[keyPath: path].append(element) }
    }

    func makeChannel() -> Channel<Message> {
        let onFault: FaultHandler = { [weak self] fault in
            _ = "\(fault)"
            self?.act()
        }
        switch random(5) {
        case 0: return Channel(reentrancy: .queued, onFault: onFault)
        case 1: return Channel(reentrancy: .nested(limit: 2), onFault: onFault)
        case 2:
            return Channel(
                onDemand: { [weak self] _ in
                    self?.act()
                    return { [weak self] in self?.act() }
                },
                onFault: onFault
            )
        default: return Channel(reentrancy: .nested(limit: 8), onFault: onFault)
        }
    }

    func makeBoard() -> Switchboard {
        let board = Switchboard(onFault: { [weak self] _ in self?.act() })
        if random(3) == 0 {
            add(\.instruments, board.addInstrument(Instrument(world: self)))
            board.diagnostics = random(2) == 0 ? .trace : .counts
        }
        return board
    }

    func begin() {
        Self.current.withLock { $0 = self }
        for _ in 0..<3 { add(\.channels, makeChannel()) }
        put(\.board, makeBoard())
        put(\.state, StateChannel(Message(self), onFault: { [weak self] _ in self?.act() }))
        put(\.observers, ProtocolChannel(onFault: { [weak self] _ in self?.act() }))
        put(\.requests, RequestChannel())
    }

    /// Lets nothing more be done.
    func stop() { storage.withLock { $0.budget = 0 } }

    /// Ends everything that there is. Called again as long as probes are left, for what an action on another thread had
    /// begun to make.
    func clear() async {
        while let task = remove(\.tasks) {
            task.cancel()
            await task.value
        }
        while let token = remove(\.tokens) { token.cancel() }
        while remove(\.instruments) != nil {}
        while remove(\.owners) != nil {}
        while remove(\.sequences) != nil {}
        while let channel = remove(\.channels) { channel.finish() }
        put(\.state, nil)
        put(\.observers, nil)
        put(\.requests, nil)
        put(\.board, nil)
        queue.sync {}
    }

    // MARK: What user code does

    /// Does something, wherever this is called.
    func act() {
        let mayAct = storage.withLock { storage in
            storage.budget -= 1
            return storage.budget >= 0
        }
        // Reads what the library knows of the caller, also where nothing else is done.
        let current = ListenerToken.current
        if let current { _ = "\(current) \(current.isActive)" }
        guard mayAct else { return }
        count.add(1, ordering: .relaxed)
        switch random(20) {
        case 0...5: post()
        case 6...9: listen()
        case 10: current?.cancel()
        case 11: remove(\.tokens)?.cancel()
        case 12: endToken()
        case 13: _ = remove(\.owners)
        case 14: pause()
        case 15: finish()
        case 16: read()
        case 17: useProtocols()
        case 18: ask()
        default: useLocally()
        }
    }

    private func anyChannel() -> Channel<Message>? {
        storage.withLock { $0.channels.randomElement(using: &$0.generator) }
    }

    private func anyOwner() -> Owner {
        if random(2) == 0, let owner = storage.withLock({ $0.owners.randomElement(using: &$0.generator) }) {
            return owner
        }
        let owner = Owner(self)
        add(\.owners, owner)
        return owner
    }

    private func post() {
        let message = Message(self)
        let sender = random(3) == 0 ? anyOwner() : nil
        let echo = random(2) == 0
        switch random(6) {
        case 0: storage.withLock({ $0.state })?.set(message)
        case 1: storage.withLock({ $0.board })?[.first].post(message, from: sender, echo: echo)
        case 2:
            guard let channel = anyChannel() else { return }
            add(\.tasks, Task.detached { _ = await channel.postAndWait(message) })
        default: anyChannel()?.post(message, from: sender, echo: echo)
        }
    }

    private func finish() {
        switch random(6) {
        case 0: anyChannel()?.finish()
        case 1: anyChannel()?.removeAllListeners()
        case 2: anyChannel()?.removeListeners(of: anyOwner())
        case 3: storage.withLock({ $0.board })?[.first].finish()
        case 4: put(\.state, StateChannel(Message(self)))
        default:
            _ = remove(\.channels)
            add(\.channels, makeChannel())
        }
    }

    private func endToken() {
        guard let token = remove(\.tokens) else { return }
        switch random(3) {
        case 0: add(\.tasks, Task.detached { await token.cancelAndWait() })
        case 1: add(\.tasks, Task.detached { await token.drain() })
        default: break
        }
    }

    private func pause() {
        guard let token = storage.withLock({ $0.tokens.randomElement(using: &$0.generator) }) else { return }
        if token.isPaused { token.resume() } else { token.pause() }
    }

    private func read() {
        guard let sequence = remove(\.sequences) else { return }
        add(\.tasks, Task.detached { for await _ in sequence.prefix(2) { World.act() } })
    }

    private func useProtocols() {
        guard let observers = storage.withLock({ $0.observers }) else { return }
        switch random(3) {
        case 0: observers.add(anyOwner())
        case 1: observers.remove(anyOwner())
        default: observers.notify { $0.happened() }
        }
    }

    private func ask() {
        guard let requests = storage.withLock({ $0.requests }) else { return }
        if random(2) == 0 {
            let probe = Probe(self)
            add(\.tokens, requests.respond(anyOwner()) { _, _ in withExtendedLifetime(probe) { World.actAndReturn() } })
        } else {
            let message = Message(self)
            add(\.tasks, Task.detached { _ = try? await requests.ask(message, timeout: .milliseconds(50)) })
        }
    }

    // MARK: What listens

    private func listen() {
        let probe = Probe(self)
        switch random(4) {
        case 0:
            if let state = storage.withLock({ $0.state }) { listen(to: state, probe) }
        case 1:
            guard let board = storage.withLock({ $0.board }) else { return }
            if random(2) == 0 { return listen(to: board[.first], probe) }
            add(\.tokens, board[matching: "first.*"].listen { _ in withExtendedLifetime(probe) { World.act() } })
        default:
            if let channel = anyChannel() {
                random(3) == 0 ? listen(to: adapted(channel), probe) : listen(to: channel, probe)
            }
        }
    }

    private func adapted(_ channel: Channel<Message>) -> any Listenable<Message> {
        switch random(4) {
        case 0: channel.removingDuplicates()
        case 1: channel.prefix(2)
        case 2:
            channel.filter { _ in
                World.act()
                return true
            }
        default:
            channel.map { message in
                World.act()
                return message
            }
        }
    }

    private func listen(to source: some Listenable<Message>, _ probe: Probe) {
        let once = random(5) == 0
        switch random(9) {
        case 0, 1: add(\.tokens, source.listen(once: once) { _ in withExtendedLifetime(probe) { World.act() } })
        case 2, 3: source.listen(anyOwner(), once: once) { _, _ in withExtendedLifetime(probe) { World.act() } }
        case 4: source.listen(anyOwner(), on: queue) { _, _ in withExtendedLifetime(probe) { World.act() } }
        case 5:
            // A state has no `.oldest`, which would lose the value that is stored.
            let buffering: BufferingPolicy = random(2) == 0 || source is StateChannel<Message> ? .newest(1) : .oldest(1)
            add(
                \.tokens,
                source.listen(on: queue, buffering: buffering) { _ in withExtendedLifetime(probe) { World.act() } }
            )
        case 6:
            let overlapping: OverlappingPolicy = random(2) == 0 ? .replace : .queue
            add(
                \.tokens,
                source.listen(overlapping: overlapping) { _ in
                    await Task.yield()
                    withExtendedLifetime(probe) { World.act() }
                }
            )
        case 7: add(\.sequences, source.messages())
        default:
            guard let channel = anyChannel() else { return }
            let stops = random(4) == 0
            add(
                \.tokens,
                channel.intercept { _ in
                    withExtendedLifetime(probe) { World.act() }
                    return stops ? .stop : .continue
                }
            )
        }
    }

    static func act() { current.withLock { $0 }?.act() }

    @Sendable static func actAndReturn() -> Int {
        act()
        return 0
    }
}

extension ChannelName<Message> { static var first: Self { "first.name" } }
