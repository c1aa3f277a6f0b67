import Channels
import Dispatch
import Testing

/// Rule 4: no lock is held while user code runs. Each test uses everything from inside such code; a lock held
/// would hang or trap.
struct LockTests {
    /// Uses a channel in every way, on this thread and on another.
    private static let useEverything: @Sendable (Channel<Int>) -> Void = { channel in
        let use: @Sendable () -> Void = {
            let owner = Owner()
            let token = channel.listen { _ in }
            channel.listen(owner) { _, _ in }
            token.pause()
            token.resume()
            channel.post(-1)
            _ = channel.listenerCount
            channel.removeListeners(of: owner)
            token.cancel()
        }
        use()
        onAnotherThread(use)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func noLockIsHeldWhileAListenerOrInterceptorRuns() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let calls = Tally()
            let use = Self.useEverything
            let body: @Sendable (Int) -> Void = { message in
                guard message >= 0 else { return }
                calls.add()
                use(channel)
            }
            let tokens = [
                channel.listen { body($0) },
                channel.listen { @MainActor message in body(message) },
                channel.listen(on: DispatchQueue(label: "queue")) { body($0) },
                channel.listen { (message: Int) async in body(message) },
                channel.intercept { post in
                    body(post.message)
                    return .continue
                },
            ]
            await channel.postAndWait(0)
            #expect(calls.value == 5, "\(calls.value)")
            withExtendedLifetime(tokens) {}
        }
    }

    @Test func noLockIsHeldWhileADeinitRuns() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let deinits = Tally()
            let use = Self.useEverything
            let make: @Sendable () -> Owner = {
                Owner {
                    deinits.add()
                    use(channel)
                }
            }
            // What a closure captured, freed by cancel, by a post, by a count, by the sweep, by the end of
            // the owner and of the channel.
            channel.listen { [captured = make()] _ in withExtendedLifetime(captured) {} }.cancel()
            var owner: Owner? = Owner()
            channel.listen(owner!) { [captured = make()] _, _ in withExtendedLifetime(captured) {} }
            owner = nil
            channel.post(-1)
            owner = Owner()
            channel.listen(owner!) { [captured = make()] _, _ in withExtendedLifetime(captured) {} }
            owner = nil
            _ = channel.listenerCount
            for _ in 0..<50 {
                channel.listen(Owner()) { [captured = make()] _, _ in withExtendedLifetime(captured) {} }
            }
            let dying = Slot(make())
            channel.listen(dying.value!) { _, _ in dying.value = nil }
            channel.post(0)
            channel.removeListeners(of: make())
            do {
                let short = Channel<Int>()
                let keeper = Owner()
                short.listen(keeper) { [captured = make()] _, _ in withExtendedLifetime(captured) {} }
                _ = short.listenerCount
            }
            _ = channel.listenerCount
            #expect(deinits.value == 56, "\(deinits.value)")
        }
    }

    @Test func noLockIsHeldWhileAFaultHandlerRuns() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let faulty = Slot<Channel<Int>>()
            let use = Self.useEverything
            let calls = Tally()
            faulty.value = Channel<Int>(reentrancy: .nested(limit: 2)) { _ in
                // Its own posts are faults again, on the other thread too.
                if calls.add() < 3 { use(faulty.value!) }
            }
            let queue = DispatchQueue.suspended()
            let tokens = [
                faulty.value!.listen(on: queue, buffering: .oldest(1)) { _ in },
                faulty.value!.listen(on: queue, buffering: .newest(1)) { _ in },
                faulty.value!.listen { (message: Int) throws in if message == 0 { throw Trouble() } },
            ]
            faulty.value!.post(0)
            faulty.value!.post(0)
            #expect(calls.value >= 3)
            queue.resume()
            withExtendedLifetime(tokens) {}
            // Its handler keeps the slot.
            faulty.value = nil
        }
    }

    @Test func noLockIsHeldWhileAResumedContinuationRuns() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let channel = Channel<Int>()
            let use = Self.useEverything
            let messages = channel.messages()
            async let reading: Void = {
                for await message in messages where message == 1 {
                    use(channel)
                    return
                }
            }()
            async let next: Void = {
                _ = await channel.first { $0 == 1 }
                use(channel)
            }()
            await wait(for: channel.listenerCount) { $0 >= 2 }
            channel.post(1)
            await reading
            await next
        }
    }

    @Test func noLockOfASwitchboardIsHeldWhileUserCodeRuns() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let board = Switchboard()
            let uses = Tally()
            let use: @Sendable () -> Void = {
                let once: @Sendable () -> Void = {
                    let owner = Bell()
                    let tokens = [board["a.b"].listen { (_: Int) in }, board[matching: "a.>"].listen { _ in }]
                    board["a.b"].post(-1)
                    board["a.c"].post(-1)
                    board.add(owner, for: (any Sounding).self)
                    board.notify((any Sounding).self) { $0.sound() }
                    _ = "\(board)"
                    board.removeListeners(of: owner)
                    for token in tokens { token.cancel() }
                }
                once()
                onAnotherThread(once)
                uses.add()
            }
            let tokens = [
                board["a.b"].listen { (message: Int) in if message >= 0 { use() } },
                board[matching: "a.*"].listen { if $0.message as? Int == 0 { use() } },
            ]
            let isArmed = Slot(false)
            let bell = Bell {
                guard isArmed.value == true else { return }
                isArmed.value = false
                use()
            }
            board.add(bell, for: (any Sounding).self)
            board["a.b"].post(0)
            isArmed.value = true
            board.notify((any Sounding).self) { $0.sound() }
            do {
                let dying = Owner(atEnd: use)
                let token = board["x.y"].listen { (_: Int) in withExtendedLifetime(dying) {} }
                let patterned = board[matching: "x.*"].listen { [other = Owner(atEnd: use)] _ in
                    withExtendedLifetime(other) {}
                }
                token.cancel()
                patterned.cancel()
            }
            board.state("state", initial: Owner(atEnd: use)).set(Owner())
            board.removeChannel(named: "state")
            #expect(uses.value == 6, "\(uses.value)")
            withExtendedLifetime(tokens) {}
        }
    }
    #endif
}
