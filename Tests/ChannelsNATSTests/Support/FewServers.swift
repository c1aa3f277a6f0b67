#if NATS
import Testing

extension Trait where Self == FewServers {
    /// Runs four tests with servers at a time: see ``FewServers``. To be named before `.hangLimit`, so that the wait for
    /// a turn does not count.
    static var fewServers: Self { FewServers() }
}

/// Lets a test begin when fewer than four others run, of all suites with this trait.
///
/// A test has one turn, however many servers it starts: tests with several cannot wait for one another. All at once, the
/// servers and tests would leave each of them so little of the machine that their limits of time pass.
struct FewServers: TestTrait, SuiteTrait, TestScoping {
    private static let turns = Turns(4)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Self.turns.take()
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        await Self.turns.giveBack()
        try result.get()
    }
}

/// Turns that are given to whoever has waited longest.
private actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func take() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func giveBack() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
#endif
