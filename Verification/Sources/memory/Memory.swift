import CMemory
import Channels
import Dispatch
import Foundation

/// How much memory stays in use after much has come and gone: `memory [--plant]`. At most a megabyte for each
/// case; with `--plant` each keeps sixteen bytes of every round, which must be noticed.
@main
struct Memory {
    private static let limit = 1 << 20

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.isEmpty || Array(arguments) == ["--plant"] else {
            FileHandle.standardError.write(Data("usage: memory [--plant]\n".utf8))
            exit(64)
        }
        let leak = Leak(isOn: !arguments.isEmpty)
        var tooMuch: [String] = []
        for (name, rounds, body) in try cases() {
            let started = ContinuousClock.now
            // Off the main actor, so that no round has to change threads.
            let growth = await Task.detached { await Self.growth(rounds, leak, body) }.value
            let passed = (ContinuousClock.now - started) / .seconds(1)
            let isTooMuch = max(growth.allocated, growth.resident) > limit
            if isTooMuch { tooMuch.append(name) }
            print(
                "\(isTooMuch ? "grew" : "ok  ") \(name), \(rounds) times: \(growth.allocated / 1024) KB allocated, \(growth.resident / 1024) KB resident, \(Int(passed)) s"
            )
        }
        guard tooMuch.isEmpty else {
            FileHandle.standardError.write(
                Data("error: more than \(limit / 1024) KB stayed in use: \(tooMuch.joined(separator: "; "))\n".utf8)
            )
            exit(1)
        }
    }

    /// What is done in one round, given its number.
    private typealias Body = @Sendable (Int) async -> Void

    private static func cases() throws -> [(String, Int, Body)] {
        let posting = Channel<Text>()
        let calls = Calls()
        let owner = Owner()
        let tokens = (0..<4).map { _ in posting.listen { _ in calls.count() } }
        posting.listen(owner) { _, _ in calls.count() }
        let mailboxes = Channel<Text>()
        let queue = DispatchQueue(label: "memory")
        let mailboxTokens = [mailboxes.listen(on: queue) { _ in }, mailboxes.listen { (_: Text) async in }]
        let quiet = Channel<Text>()
        let state = StateChannel(0)
        let board = Switchboard()
        @Sendable func name(_ number: Int) -> ChannelName<Int> { ChannelName(stringLiteral: "memory.name\(number)") }
        return [
            (
                "posts to 5 listeners", 10_000_000,
                { [tokens, owner] number in
                    posting.post(Text(number))
                    withExtendedLifetime((tokens, owner)) {}
                }
            ),
            (
                "posts through 2 mailboxes", 1_000_000,
                { [mailboxTokens] number in
                    // Waits now and then: what waits in a mailbox is memory in use, and no growth.
                    if number % 100 == 99 {
                        await mailboxes.postAndWait(Text(number))
                    } else {
                        mailboxes.post(Text(number))
                    }
                    withExtendedLifetime(mailboxTokens) {}
                }
            ),
            ("listeners cancelled, no post", 1_000_000, { _ in quiet.listen { _ in }.cancel() }),
            ("listeners whose owner goes, no post", 1_000_000, { _ in quiet.listen(Owner()) { _, _ in } }),
            ("async listeners whose token goes, no post", 1_000_000, { _ in _ = quiet.listen { (_: Text) async in } }),
            ("sequences that nobody reads, no post", 1_000_000, { _ in _ = quiet.messages() }),
            ("listeners to a state, whose owner goes", 1_000_000, { _ in state.listen(Owner()) { _, _ in } }),
            ("names posted to once", 1_000_000, { number in board[name(number)].post(number) }),
            ("names listened to once", 1_000_000, { number in board[name(number)].listen(Owner()) { _, _ in } }),
            (
                "names whose channel was held once", 1_000_000,
                { number in _ = board.channel(name(number)).listenerCount }
            ),
        ]
    }

    /// What more is in use after all rounds than after the first hundredth of them.
    private static func growth(_ rounds: Int, _ leak: Leak, _ body: Body) async -> (allocated: Int, resident: Int) {
        for round in 0..<rounds / 100 { await body(round) }
        let before = inUse()
        for round in rounds / 100..<rounds {
            await body(round)
            leak.keepSome()
        }
        let after = inUse()
        return (max(0, after.allocated - before.allocated), max(0, after.resident - before.resident))
    }

    private static func inUse() -> (allocated: Int, resident: Int) {
        let statistics = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        let allocated = memory_allocated()
        guard statistics.count > 1, let pages = Int(statistics[1]), allocated > 0 else {
            fatalError("what is in use is read as Linux and the GNU C library tell it, and they do not")
        }
        return (allocated, pages * sysconf(Int32(_SC_PAGESIZE)))
    }
}

/// A message with something on the heap.
private struct Text: Sendable {
    let text: String
    init(_ number: Int) { text = "a message longer than fits in place, \(number % 10)" }
}

private final class Owner: Sendable {}

/// Counts without a lock: posts come from one task at a time.
private final class Calls: @unchecked Sendable {
    private var total = 0
    func count() { total &+= 1 }
}

private final class Leak: Sendable {
    private let isOn: Bool
    init(isOn: Bool) { self.isOn = isOn }
    func keepSome() {
        if isOn { memory_keep(16) }
    }
}
