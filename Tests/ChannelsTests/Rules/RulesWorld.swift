import Channels
import ChannelsDiagnostics
import ChannelsTesting
import TestSupport

/// Performs the steps of a test of the rules with the library, on one thread.
final class RulesWorld: @unchecked Sendable {  // used by one thread
    private let board: Switchboard
    private let channel: Channel<Int>
    private let faults: Recorder<Fault>
    private var owners: [Owner?] = (0..<RulesGenerator.owners).map { _ in Owner() }
    private var tokens: [Int: ListenerToken] = [:]
    var called: (_ listener: Int, _ value: Int) -> Void = { _, _ in }

    init(_ setting: Setting) {
        let faults = Recorder<Fault>()
        self.faults = faults
        let reentrancy: Reentrancy = setting.isQueued ? .queued(limit: setting.limit) : .nested(limit: setting.limit)
        board = Switchboard(
            reentrancy: reentrancy,
            onFault: { faults.record($0) },
            diagnostics: setting.isCounted ? .counts : .off
        )
        channel = board.channel("rules.number")
    }

    func state(of numbers: [Int]) -> String {
        let (active, missed) = (
            numbers.filter { tokens[$0]?.isActive == true }, numbers.map { tokens[$0]?.missedCount ?? 0 }
        )
        let codes = faults.all.map(\.code)
        let (refused, failed) = (codes.count { $0 == .recursionLimit }, codes.count { $0 == .listenerThrew })
        return
            "\(channel.listenerCount) listeners, active \(active), missed \(missed), \(refused) refused, \(failed) failed"
    }

    /// Breaks the cycles of what listeners capture.
    func end() {
        channel.finish()
        board.removeAllListeners()
        tokens = [:]
        called = { _, _ in }
    }

    /// Returns what a post returns, otherwise 0.
    func perform(_ step: Step) -> Int {
        switch step {
        case .post(let value, let from, let echo):
            let sender = from.flatMap { owners[$0] }
            return channel.post(value, from: sender, echo: echo)
        case .add(let script): add(script)
        case .cancel(let number): tokens[number]?.cancel()
        case .pause(let number): tokens[number]?.pause()
        case .resume(let number): tokens[number]?.resume()
        case .removeListeners(let number): if let owner = owners[number] { channel.removeListeners(of: owner) }
        case .release(let number): owners[number] = nil
        }
        return 0
    }

    private func add(_ script: Script) {
        let owner = script.owner.map { owners[$0] }
        // It has been released.
        if case .some(nil) = owner { return }
        guard script.isPattern else { return register(script, owner ?? nil, adapted(channel, script.adaptations)) }
        guard !script.adaptations.isEmpty else { return register(script, owner ?? nil, board[matching: "rules.*"]) }
        register(script, owner ?? nil, adapted(board.posts.compactMap { $0.message as? Int }, script.adaptations))
    }

    private func register<Source: Listenable>(_ script: Script, _ owner: Owner?, _ source: Source) {
        let (priority, once) = (ListenerPriority(script.priority), script.isOnce)
        let hear: @Sendable (Source.Message) -> Void = { [self] message in
            called(script.number, (message as? Posted<any Sendable>)?.message as? Int ?? message as? Int ?? -1)
        }
        tokens[script.number] =
            switch (owner, script.fails) {
            case (let owner?, _):
                source.listen(owner, priority: priority, once: once) { _, message in
                    hear(message)
                    if script.fails { throw Trouble() }
                }
            case (nil, false): source.listen(priority: priority, once: once) { message in hear(message) }
            case (nil, true):
                source.listen(priority: priority, once: once) { message in
                    hear(message)
                    throw Trouble()
                }
            }
    }

    private func adapted(_ source: some Listenable<Int>, _ adaptations: [Adaptation]) -> any Listenable<Int> {
        guard let first = adaptations.first else { return source }
        let rest = Array(adaptations.dropFirst())
        return switch first {
        case .filter(let divisor): adapted(source.filter { $0 % divisor != 0 }, rest)
        case .map(let more): adapted(source.map { $0 + more }, rest)
        case .compactMap(let divisor): adapted(source.compactMap { $0 % divisor == 0 ? nil : $0 * 2 }, rest)
        case .prefix(let count): adapted(source.prefix(count), rest)
        case .prefixWhile(let limit): adapted(source.prefix { $0 < limit }, rest)
        }
    }
}
