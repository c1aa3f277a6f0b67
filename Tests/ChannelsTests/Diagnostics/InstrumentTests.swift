import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Foundation
import Testing

/// Writes down what it is called around, and hands a context on.
private final class Scribe: ChannelInstrument {
    let name: String
    let lines: Recorder<String>

    init(_ name: String, _ lines: Recorder<String>) {
        self.name = name
        self.lines = lines
    }

    func write(_ line: String) { lines.record("\(name) \(line)") }

    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {
        write("posts \(post.channelName)")
        deliver("context of \(name)")
        write("posted")
    }

    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        write("calls \(delivery.deliveryKind) with \(delivery.context as? String ?? "nothing")")
        call()
        write("called")
    }

    func deliver(_ delivery: DeliveryEvent, isolation: isolated (any Actor)?, _ call: () async -> Void) async {
        write("awaits \(delivery.deliveryKind) with \(delivery.context as? String ?? "nothing")")
        await call()
        write("awaited")
    }

    func report(_ fault: Fault) { write("reports \(fault.code)") }
}

/// Does not do what it is called for.
private struct Forgetful: ChannelInstrument {
    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {}
    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {}
    func deliver(_ delivery: DeliveryEvent, isolation: isolated (any Actor)?, _ call: () async -> Void) async {}
}

/// Does it twice.
private struct Eager: ChannelInstrument {
    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {
        deliver(1)
        deliver(2)
    }
    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        call()
        call()
    }
}

/// Posts on the channel it is told of.
private final class Gossip: ChannelInstrument {
    let channel: Channel<Int>
    init(_ channel: Channel<Int>) { self.channel = channel }

    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {
        channel.post(-1)
        deliver(nil)
    }

    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        channel.post(-2)
        call()
    }
}

struct InstrumentTests {
    let board = Switchboard(onFault: { _ in }, diagnostics: .trace)
    let number = ChannelName<Int>("instrument.number")
    let lines = Recorder<String>()

    @Test func cancellingOneInstrumentLeavesTheOthers() {
        let token = board[number].listen { _ in }
        let tokens = ["a", "b", "c"].map { board.addInstrument(Scribe($0, lines)) }
        tokens[1].cancel()
        board[number].post(1)
        tokens[0].cancel()
        board[number].post(2)
        let posts = lines.all.filter { $0.contains("posts") }.map { $0.prefix(1) }
        #expect(posts == ["a", "c", "c"])
        withExtendedLifetime((token, tokens)) {}
    }

    @Test func instrumentsAreCalledAroundEachOtherInTheOrderTheyWereAdded() {
        let instruments = [board.addInstrument(Scribe("a", lines)), board.addInstrument(Scribe("b", lines))]
        let token = board[number].listen { [lines] _ in lines.record("listener") }
        board[number].post(1)
        #expect(
            lines.all == [
                "a posts instrument.number", "b posts instrument.number",
                "a calls direct with context of a", "b calls direct with context of b", "listener",
                "b called", "a called", "b posted", "a posted",
            ]
        )
        withExtendedLifetime((instruments, token)) {}
    }

    @Test func whatAnInstrumentGivesAPostTravelsThroughLanesAndPatterns() async {
        let instrument = board.addInstrument(Scribe("a", lines))
        let queue = DispatchQueue(label: "instrument")
        let tokens = [
            board[number].listen(on: queue) { _ in },
            board[number].listen { _ in await Task.yield() },
            board[matching: "instrument.*"].listen(on: queue) { _ in },
        ]
        await board[number].postAndWait(1)
        let all = lines.all
        #expect(all.filter { $0 == "a posts instrument.number" }.count == 1)
        #expect(all.filter { $0 == "a calls queue with context of a" }.count == 2)
        #expect(all.filter { $0 == "a awaits async with context of a" }.count == 1)
        withExtendedLifetime((instrument, tokens)) {}
    }

    @Test func whatAnInstrumentGivesAStateTravelsToMailboxes() async {
        let instrument = board.addInstrument(Scribe("a", lines))
        let queue = DispatchQueue(label: "instrument")
        let state = board.state(StateName<Int>("instrument.state"), initial: 0)
        let heard = Recorder<Int>()
        let token = state.listen(on: queue) { heard.record($0) }
        _ = await heard.first(1)
        // The instrument is told of the end of a call, too.
        await queue.settle()
        _ = lines.takeAll()
        state.set(1)
        state.update { $0 = 2 }
        #expect(await heard.first(3) == [0, 1, 2])
        #expect(lines.all.filter { $0 == "a posts instrument.state" }.count == 2)
        #expect(lines.all.filter { $0 == "a calls queue with context of a" }.count == 2)
        withExtendedLifetime((instrument, token)) {}
    }

    @Test func anInstrumentThatDoesNotGoOnLosesNothing() async {
        let instrument = board.addInstrument(Forgetful())
        let heard = Tally()
        let queue = DispatchQueue(label: "instrument")
        let tokens = [
            board[number].listen { _ in heard.add() },
            board[number].listen(on: queue) { _ in heard.add() },
            board[number].listen { _ in
                await Task.yield()
                heard.add()
            },
        ]
        #expect(await board[number].postAndWait(1).completedCount == 3)
        #expect(heard.value == 3)
        withExtendedLifetime((instrument, tokens)) {}
    }

    @Test func anInstrumentThatGoesOnTwiceDoublesNothing() {
        let instrument = board.addInstrument(Eager())
        let heard = Tally()
        let token = board[number].listen { _ in heard.add() }
        board[number].post(1)
        #expect(heard.value == 1)
        withExtendedLifetime((instrument, token)) {}
    }

    @Test func whatAnInstrumentPostsItselfIsNotHandedToInstruments() {
        let channel = board.channel(number)
        let instruments = [board.addInstrument(Gossip(channel)), board.addInstrument(Scribe("a", lines))]
        let heard = Recorder<Int>()
        let token = channel.listen { heard.record($0) }
        channel.post(1)
        #expect(heard.all == [-1, -2, 1])
        #expect(lines.all.filter { $0.hasPrefix("a posts") }.count == 1)
        withExtendedLifetime((instruments, token)) {}
    }

    @Test func whatAListenerPostsIsHandedToInstruments() {
        let instrument = board.addInstrument(Scribe("a", lines))
        let token = board[number].listen { [board, number] message in if message < 3 { board[number].post(message + 1) }
        }
        board[number].post(1)
        #expect(lines.all.filter { $0.hasPrefix("a posts") }.count == 3)
        withExtendedLifetime((instrument, token)) {}
    }

    @Test func faultsAreToldWhateverTheDiagnosticsBesideTheHandler() {
        let handled = Tally()
        let board = Switchboard(onFault: { _ in handled.add() })
        let instrument = board.addInstrument(Scribe("a", lines))
        let token = board[number].listen { (_: Int) throws in throw Trouble() }
        board[number].post(1)
        #expect(handled.value == 1)
        #expect(lines.all == ["a reports listenerThrew"])
        withExtendedLifetime((instrument, token)) {}
    }

    @Test func faultsOfAWatchedChannelAreToldUnderItsNameWithoutCounting() {
        let board = Switchboard(onFault: { _ in })
        let channel = Channel<Int>(onFault: { _ in })
        let names = Recorder<String>()
        final class Names: ChannelInstrument {
            let names: Recorder<String>
            init(_ names: Recorder<String>) { self.names = names }
            func report(_ fault: Fault) { names.record(fault.channelName) }
        }
        let instrument = board.addInstrument(Names(names))
        board.watch(channel, as: "till.sold")
        let token = channel.listen { (_: Int) throws in throw Trouble() }
        channel.post(1)
        #expect(names.all == ["till.sold"])
        #expect(board.snapshot().watched.map(\.postCount) == [nil])
        withExtendedLifetime((instrument, token)) {}
    }

    @Test func respondersAreInstrumented() async throws {
        let instrument = board.addInstrument(Scribe("a", lines))
        let requests = board.requests(RequestName<Int, String>("instrument.requests"))
        await #expect(throws: ChannelError.self) { try await requests.ask(0) }
        let token = requests.respond { "\($0)" }
        #expect(try await requests.ask(1) == "1")
        #expect(await requests.askAll(2).count == 1)
        #expect(lines.all.filter { $0 == "a posts instrument.requests" }.count == 3)
        #expect(lines.all.filter { $0 == "a awaits responder with context of a" }.count == 2)
        let shown = try #require(board.snapshot().channels.first)
        #expect(shown.postCount == 3 && shown.unreceivedCount == 1)
        #expect(shown.listeners.map(\.deliveredCount) == [2])
        #expect(shown.listeners.map { $0.callTimes?.count } == [2])
        withExtendedLifetime((instrument, token)) {}
    }

    @Test func observersOfAProtocolAreInstrumented() {
        let instrument = board.addInstrument(Scribe("a", lines))
        let bell = Bell()
        board.add(bell, for: (any Sounding).self)
        board.notify((any Sounding).self) { $0.sound() }
        #expect(lines.all.contains("a calls direct with context of a"))
        let shown = board.snapshot().protocols
        #expect(shown.map(\.postCount) == [1] && shown.first?.listeners.map(\.deliveredCount) == [1])
        withExtendedLifetime((instrument, bell)) {}
    }
}
