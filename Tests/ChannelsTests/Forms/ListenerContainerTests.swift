import Channels
import ChannelsTesting
import Testing

/// What has listeners has all of the members of `ListenerContainer`, and they do the same.
@Suite(.hangLimit)
struct ListenerContainerTests {
    enum Kind: CaseIterable {
        case channel, named, state, namedState, requests, namedRequests, observers, namedObservers
    }

    /// A container, what adds a listener of an owner, and whether somebody would hear of a use.
    private struct Case {
        let container: any ListenerContainer & Sendable
        let add: (Ear) -> Void
        let use: () async -> Bool
    }

    private let board = Switchboard(onFault: { _ in })
    private let name: ChannelName<Int> = "container.channel"

    private func make(_ kind: Kind) -> Case {
        switch kind {
        case .channel: messages(Channel<Int>())
        case .named:
            Case(
                container: board[name],
                add: { [board, name] in board[name].listen($0) { _, _ in } },
                use: { [board, name] in board[name].post(1) > 0 }
            )
        case .state: state(StateChannel(0))
        case .namedState: state(board.state("container.state", initial: 0))
        case .requests: requests(RequestChannel<Int, Int>())
        case .namedRequests: requests(board.requests("container.requests"))
        case .observers: observers(ProtocolChannel<any Hearing>())
        case .namedObservers: observers(board.observers((any Hearing).self))
        }
    }

    private func messages(_ channel: Channel<Int>) -> Case {
        Case(container: channel, add: { channel.listen($0) { _, _ in } }, use: { channel.post(1) > 0 })
    }

    private func state(_ state: StateChannel<Int>) -> Case {
        Case(
            container: state,
            add: { state.listen($0) { _, _ in } },
            use: { await state.setAndWait(1).reachedCount > 0 }
        )
    }

    private func requests(_ requests: RequestChannel<Int, Int>) -> Case {
        Case(
            container: requests,
            add: { requests.respond($0) { _, request in request } },
            use: { (try? await requests.ask(1)) != nil }
        )
    }

    private func observers(_ channel: ProtocolChannel<any Hearing>) -> Case {
        Case(container: channel, add: { channel.add($0) }, use: { channel.notify { $0.hear() } > 0 })
    }

    @Test(arguments: Kind.allCases)
    func listenersAreCountedFoundAndRemovedByOwnerAndTogether(kind: Kind) async {
        let made = make(kind)
        let container = made.container
        let (first, second) = (Ear(), Ear())
        #expect(container.isEmpty && !container.hasListeners(of: first))
        made.add(first)
        made.add(second)
        #expect(container.listenerCount == 2 && !container.isEmpty && container.hasListeners(of: first))
        container.removeListeners(of: first)
        #expect(container.listenerCount == 1 && !container.hasListeners(of: first))
        made.add(first)
        await container.removeListenersAndWait(of: second)
        #expect(!container.hasListeners(of: second) && container.hasListeners(of: first))
        made.add(second)
        await container.drainListeners(of: second)
        #expect(!container.hasListeners(of: second) && container.hasListeners(of: first))
        #expect(await made.use())
        container.removeAllListeners()
        #expect(container.isEmpty)
        #expect(await !made.use())
        made.add(second)
        #expect(await made.use())
    }

    @Test(arguments: Kind.allCases)
    func whatIsFinishedHasNoListenersAndTakesNone(kind: Kind) async {
        let made = make(kind)
        let ear = Ear()
        made.add(ear)
        made.container.finish()
        #expect(made.container.isEmpty && !made.container.hasListeners(of: ear))
        #expect(await !made.use())
        made.add(ear)
        // The name is looked up again, and has another channel.
        #expect(made.container.isEmpty == (kind != .named))
        made.container.finish()
        #expect(await !made.use())
    }

    @Test func aFinishedNameIsAvailableAgain() async throws {
        let requests: RequestName<Int, Int> = "container.requests"
        board.requests(requests).finish()
        let again = board.requests(requests)
        let token = again.respond { $0 }
        #expect(try await again.ask(1) == 1)
        let state: StateName<Int> = "container.state"
        board.state(state, initial: 1).finish()
        #expect(board.state(state, initial: 2).value == 2)
        token.cancel()
    }

    @Test func aFinishedProtocolIsAvailableAgain() {
        let former = board.observers((any Hearing).self)
        let ear = Ear()
        #expect(board.add(ear, for: (any Hearing).self))
        former.finish()
        #expect(!board.contains(ear, for: (any Hearing).self))
        #expect(board.notify((any Hearing).self) { $0.hear() } == 0)
        #expect(board.add(ear, for: (any Hearing).self))
        #expect(board.notify((any Hearing).self) { $0.hear() } == 1)
        #expect(former.isEmpty && board.observers((any Hearing).self) !== former)
    }

    @Test func finishingANameOfAnotherKindDoesNothing() {
        let state = board.state("container.channel", initial: 0)
        let ear = Ear()
        state.listen(ear) { _, _ in }
        board[name].finish()
        #expect(state.listenerCount == 1)
    }
}

private protocol Hearing: AnyObject, Sendable {
    func hear()
}

private final class Ear: Hearing, Sendable {
    func hear() {}
}
