import Channels
import ChannelsDiagnostics
import Dispatch
import Foundation
import Testing

/// What is done again and again keeps no more memory the tenth time than the second: kept messages, lanes,
/// channels, names.
///
/// Each test has a process of its own, so that nothing else allocates meanwhile. The address sanitizer has an
/// allocator of its own, of which nothing is measured; there the leak check finds what is lost.
struct MemoryTests {
    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func whatIsMeasuredGrowsByWhatIsKept() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            guard isMemoryMeasured() else { return }
            var kept: [UnsafeMutableRawPointer] = []
            let growth = growthOfMemory { kept += (0..<500).map { _ in .allocate(byteCount: 100, alignment: 16) } }
            #expect(growth > 8 * 500 * 100, "\(growth)")
            for place in kept { place.deallocate() }
        }
    }

    /// As where each connection is served by a thread of its own: a thread looks for owners only in lists of its group.
    @Test func memoryStaysBoundedWhereEachOwnerComesWithAThreadOfItsOwn() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let (board, living) = (Switchboard(), Tally())
            for round in 0..<400 {
                await onThreads(8, stackSize: 256 << 10) { index in
                    let name = ChannelName<Int>(stringLiteral: "connection.\(round).\(index)")
                    board[name].listen(Owner()) { [witness = Witness(living)] _, _ in withExtendedLifetime(witness) {} }
                }
            }
            #expect(living.value < 500, "\(living.value)")
        }
    }
    #endif

    enum Kind: CaseIterable, Codable {
        case messagesThatWait, runsOfPriorities, channels, observers
        case ownersHeardByPattern, namesUnderAPattern, namesOnlyAPatternHears

        func check() throws {
            switch self {
            case .messagesThatWait: MemoryTests.messagesThatWait()
            case .runsOfPriorities: MemoryTests.runsOfPriorities()
            case .channels: MemoryTests.channels()
            case .observers: MemoryTests.observers()
            case .ownersHeardByPattern: MemoryTests.ownersHeardByPattern()
            case .namesUnderAPattern: try MemoryTests.namesUnderAPattern()
            case .namesOnlyAPatternHears: try MemoryTests.namesOnlyAPatternHears()
            }
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: Kind.allCases)
    func whatComesAndGoesAgainAndAgainIsGivenBack(kind: Kind) async {
        await #expect(processExitsWith: .success) { [kind] in
            endIfItHangs()
            try kind.check()
        }
    }
    #endif

    private static func messagesThatWait() {
        let channel = Channel<[Int]>(reentrancy: .queued)
        let token = channel.listen { if $0.count < 3 { channel.post($0 + [0]) } }
        requireNoGrowth { for _ in 0..<1_000 { channel.post([0]) } }
        token.cancel()
    }

    private static func runsOfPriorities() {
        let channel = Channel<Int>()
        var round = 0
        requireNoGrowth {
            round += 1
            let tokens = (0..<2_000).map { channel.listen(priority: ListenerPriority(round * 10_000 + $0)) { _ in } }
            #expect(channel.post(1) == tokens.count)
            for token in tokens { token.cancel() }
        }
    }

    private static func channels() {
        requireNoGrowth {
            for number in 0..<300 {
                let channel = Channel<[Int]>()
                let token = channel.listen { _ in }
                let interceptor = channel.intercept { _ in .continue }
                channel.post([number])
                let local = LocalChannel<[Int]>()
                let localToken = local.listen { _ in }
                local.post([number])
                let state = StateChannel([number])
                // One that sets the state again: its turn is kept until the round under way has ended.
                let stateToken = state.listen { if $0.count < 4 { state.set($0 + [0]) } }
                state.update { $0.append(1) }
                state.set([2, 3])
                let requests = RequestChannel<Int, [Int]>()
                let responder = requests.respond { [$0] }
                token.cancel()
                interceptor.cancel()
                localToken.cancel()
                stateToken.cancel()
                responder.cancel()
            }
        }
    }

    private static func observers() {
        let channel = ProtocolChannel<any Sounding>()
        requireNoGrowth {
            for _ in 0..<500 {
                let bell = Bell()
                precondition(channel.add(bell))
                channel.notify { $0.sound() }
                channel.remove(bell)
            }
            for _ in 0..<500 { precondition(channel.add(Bell())) }
            channel.notify { $0.sound() }
        }
    }

    private static func ownersHeardByPattern() {
        let board = Switchboard()
        let stays = board[matching: "memory.>"].listen { _ in }
        requireNoGrowth { for _ in 0..<500 { board[matching: "memory.*"].listen(Owner()) { _, _ in } } }
        stays.cancel()
    }

    private static func namesUnderAPattern() throws {
        let board = Switchboard()
        let everything = board[matching: "memory.>"].listen { _ in }
        var round = 0
        try requireNoGrowth {
            round += 1
            for number in 0..<300 {
                let name = try ChannelName<Int>(validating: "memory.\(round).name-\(number)")
                let token = board.channel(name).listen { _ in }
                precondition(board[name].post(number) == 2)
                token.cancel()
                board[matching: "memory.*.name-7"].listen { _ in }.cancel()
            }
        }
        everything.cancel()
    }

    private static func namesOnlyAPatternHears() throws {
        let board = Switchboard()
        let everything = board[matching: "memory.>"].listen { _ in }
        var round = 0
        try requireNoGrowth {
            round += 1
            for number in 0..<3_000 {
                let name = try ChannelName<Int>(validating: "memory.\(round).name-\(number)")
                precondition(board[name].post(number) == 1)
            }
        }
        everything.cancel()
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func theTableOfNamesIsGivenBackWithTheNames() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            guard isMemoryMeasured() else { return }
            let board = Switchboard()
            let before = bytesInUse()
            do {
                let tokens = try (0..<50_000).map { number in
                    board[try ChannelName<Int>(validating: "memory.name-\(number)")].listen { _ in }
                }
                for token in tokens { token.cancel() }
            }
            let growth = bytesInUse() - before
            // Which channel has which name takes two words for each name, in a table that is not full.
            #expect(growth < 50_000 * 24, "\(growth) bytes more")
        }
    }

    /// What counts for a channel and a listener is made by the first post that needs it.
    @Test func whatTwoThreadsMakeAtOnceIsGivenBack() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let before = bytesInUse()
            for _ in 0..<10 {
                let board = Switchboard(diagnostics: .trace)
                let channels = (0..<4_000).map { _ in Channel<Int>() }
                for channel in channels { board.watch(channel, as: "channel") }
                let owner = Owner()
                for channel in channels { channel.listen(owner) { _, _ in } }
                await onThreads(2) { _ in for channel in channels { channel.post(1) } }
            }
            // The last threads may be about to end, and keep the channels until then.
            await wait(for: bytesInUse() - before) { $0 <= 400_000 }
        }
    }

    /// There are as many records as there ever were threads at a time.
    @Test func threadsThatHaveEndedLeaveTheirRecordsToTheNext() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let token = channel.listen { _ in }
            threadsAliveAtOnce(500) { channel.post(1) }
            let memory = bytesInUse()
            for _ in 0..<4 { threadsAliveAtOnce(400) { channel.post(1) } }
            for _ in 0..<1_000 { threadsAliveAtOnce(1) { channel.post(1) } }
            // Threads that are about to end still have theirs: a few hundred records more, of 18 KB, and not 2,600.
            #expect(!isMemoryMeasured() || bytesInUse() - memory < 20 << 20, "\(bytesInUse() - memory) bytes more")
            token.cancel()
        }
    }
    #endif
}

/// Runs a body on threads of their own, none of which ends before all have run it.
private func threadsAliveAtOnce(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    let (done, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for _ in 0..<count {
        let thread = Thread {
            body()
            done.signal()
            gate.wait()
        }
        thread.stackSize = 256 << 10
        thread.start()
    }
    for _ in 0..<count { done.wait() }
    for _ in 0..<count { gate.signal() }
}

/// Expects a round to leave no more behind, on average, than a stray block or two.
func requireNoGrowth(
    sourceLocation: SourceLocation = #_sourceLocation,
    of round: () throws -> Void
) rethrows {
    let growth = try growthOfMemory(in: round)
    #expect(growth < 8 * 2_048, "\(growth) bytes more after eight rounds", sourceLocation: sourceLocation)
}

/// The same for a round that waits.
///
/// - Parameter limit: Dispatch and `malloc` keep about a thousand blocks for each thread that works for it, and a task
///   that waits may go on on another thread each time: 250 KB in all have been seen. So a round does what it does so
///   often that a block each time is more.
func requireNoGrowth(
    beyond limit: Int,
    sourceLocation: SourceLocation = #_sourceLocation,
    of round: () async throws -> Void
) async rethrows {
    for _ in 0..<2 { try await round() }
    let before = bytesInUse()
    for _ in 0..<8 { try await round() }
    let growth = bytesInUse() - before
    #expect(growth < limit, "\(growth) bytes more after eight rounds", sourceLocation: sourceLocation)
}

/// How many bytes more are in use after eight rounds, which two went before.
func growthOfMemory(in round: () throws -> Void) rethrows -> Int {
    for _ in 0..<2 { try round() }
    let before = bytesInUse()
    for _ in 0..<8 { try round() }
    return bytesInUse() - before
}

/// Whether an allocation shows in ``bytesInUse()``.
func isMemoryMeasured() -> Bool {
    let before = bytesInUse()
    let place = UnsafeMutableRawPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { place.deallocate() }
    return bytesInUse() > before
}

/// The bytes that `malloc` has given out and not got back.
func bytesInUse() -> Int {
    #if canImport(Darwin)
    var statistics = malloc_statistics_t()
    malloc_zone_statistics(nil, &statistics)
    return Int(statistics.size_in_use)
    #else
    // By its address: the header is not in the module. Older interfaces count the main thread's memory only.
    typealias Report = @convention(c) (CInt, OpaquePointer?) -> CInt
    guard let address = dlsym(nil, "malloc_info") else { return 0 }
    var text: UnsafeMutablePointer<CChar>?
    var length = 0
    guard let file = open_memstream(&text, &length) else { return 0 }
    // It is what the manual says it is.
    _ = unsafeBitCast(address, to: Report.self)(0, OpaquePointer(file))
    fclose(file)
    defer { free(text) }
    guard let text else { return 0 }
    // What belongs to all heaps comes last: what the system gave, less what is free, and what it gave one by
    // one.
    func last(_ element: String) -> Int {
        let line = String(cString: text).split(separator: "\n").last { $0.hasPrefix(element) } ?? ""
        return line.split(separator: "\"").last { Int($0) != nil }.flatMap { Int($0) } ?? 0
    }
    return last("<system type=\"current\"") + last("<total type=\"mmap\"") - last("<total type=\"fast\"")
        - last("<total type=\"rest\"")
    #endif
}
