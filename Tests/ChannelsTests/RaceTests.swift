import Channels
import ChannelsTesting
import Dispatch
import Testing

/// Interleavings that were wrong once.
struct RaceTests {
    /// A post that had seen no interceptor must not let one write into the caller's own message.
    @Test func anInterceptorThatComesDuringAPostReplacesACopyOnly() async {
        let living = Tally()
        let channel = Channel<Witness>()
        let heard = Tally()
        let token = channel.listen { _ in heard.add() }
        let ended = Slot(false)
        await onThreads(2) { index in
            if index == 0 {
                let message = Witness(living, 7)
                for _ in 0..<20_000 { channel.post(message) }
                #expect(message.number == 7)
                ended.value = true
            } else {
                while ended.value == false { channel.intercept { _ in .replace(Witness(living, 8)) }.cancel() }
            }
        }
        #expect(heard.value == 20_000)
        await living.wait(untilAtMost: 0)
        withExtendedLifetime(token) {}
    }

    /// It is in once at most, whoever adds and removes it.
    @Test func anObserverAddedAndRemovedByTwoThreadsIsNeverCalledTwice() async {
        let board = Switchboard()
        let bell = Bell()
        let most = Tally()
        await onThreads(4) { index in
            for _ in 0..<3_000 {
                switch index {
                case 0: board.add(bell, for: (any Sounding).self)
                case 1: board.remove(bell, for: (any Sounding).self)
                case 2: board.removeListeners(of: bell)
                default: if board.notify((any Sounding).self, { _ in }) > 1 { most.add() }
                }
            }
        }
        #expect(most.value == 0)
        board.remove(bell, for: (any Sounding).self)
        #expect(board.notify((any Sounding).self) { $0.sound() } == 0)
        #expect(board.add(bell, for: (any Sounding).self))
        #expect(board.notify((any Sounding).self) { $0.sound() } == 1)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// Two types contend for one name while a pattern listens.
    @Test func aNameThatTwoThreadsWantForTwoTypesDoesNotDeadlock() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let board = Switchboard()
            let token = board[matching: "race.>"].listen { _ in }
            await onThreads(2) { index in
                for _ in 0..<20_000 {
                    if index == 0 {
                        _ = try? board.channel("race.a", of: Int.self)
                    } else {
                        _ = try? board.channel("race.a", of: String.self)
                    }
                }
            }
            withExtendedLifetime(token) {}
        }
    }

    @Test func aListenerMayBeCancelledWhileItResumes() async {
        await #expect(processExitsWith: .success) {
            endIfItHangs()
            let state = StateChannel(0)
            let tokens = (0..<20_000).map { _ in state.listen { _ in } }
            for token in tokens { token.pause() }
            let arrived = Tally()
            await onThreads(2) { index in
                for (round, token) in tokens.enumerated() {
                    arrived.add()
                    arrived.spin(until: 2 * (round + 1))
                    if index == 0 {
                        token.resume()
                    } else {
                        // To meet it at every point.
                        for _ in 0..<(round % 300) { _ = arrived.value }
                        token.cancel()
                    }
                }
            }
            #expect(state.isEmpty)
        }
    }
    #endif
}
