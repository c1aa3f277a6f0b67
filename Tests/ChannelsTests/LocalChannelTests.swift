import Channels
import Testing

/// The rules on a channel of one isolation domain.
struct LocalChannelTests {
    private final class Plain {
        var heard: [Int] = []
        var atEnd: () -> Void = {}
        deinit { atEnd() }
    }

    @Test func aPostReachesTheListenersRegisteredWhenItBegins() {
        let channel = LocalChannel<Int>()
        var heard: [String] = []
        var added: LocalListenerToken?
        let token = channel.listen { [unowned channel] message in
            heard.append("first \(message)")
            if added == nil { added = channel.listen { heard.append("added \($0)") } }
        }
        #expect(channel.post(1) == 1)
        #expect(channel.post(2) == 2)
        #expect(heard == ["first 1", "first 2", "added 2"])
        withExtendedLifetime((token, added)) {}
    }

    @Test func cancellingDuringAPostSkipsNobodyAndSparesThoseNotReached() {
        let channel = LocalChannel<Int>()
        var heard: [Int] = []
        var tokens: [LocalListenerToken] = []
        for index in 0..<5 {
            tokens.append(
                channel.listen { _ in
                    heard.append(index)
                    if index == 1 {
                        tokens[1].cancel()
                        tokens[3].cancel()
                    }
                }
            )
        }
        #expect(channel.post(1) == 4)
        #expect(heard == [0, 1, 2, 4])
        #expect(channel.listenerCount == 3)
        tokens = []
        #expect(channel.isEmpty)
    }

    @Test func ownersAreHeldWeaklyAndDuringACall() {
        let channel = LocalChannel<Int>()
        var events: [String] = []
        var owner: Plain? = Plain()
        owner!.atEnd = { events.append("gone") }
        channel.listen(owner!) { me, message in
            owner = nil
            events.append("called")
            me.heard.append(message)
        }
        #expect(channel.post(1) == 1)
        #expect(events == ["called", "gone"])
        #expect(channel.post(2) == 0)
        #expect(channel.isEmpty)
    }

    @Test func cancelFreesAClosureAtOnceOrWhenThePostHasEnded() {
        let channel = LocalChannel<Int>()
        let living = Tally()
        let idle = channel.listen { [witness = Witness(living)] _ in withExtendedLifetime(witness) {} }
        idle.cancel()
        #expect(living.value == 0)
        var own: LocalListenerToken?
        own = channel.listen { [witness = Witness(living)] _ in
            own?.cancel()
            #expect(living.value == 1)
            withExtendedLifetime(witness) {}
        }
        channel.post(1)
        #expect(living.value == 0)
        withExtendedLifetime((idle, own)) {}
    }

    /// A token that any thread may use would let two of them change a list that takes no lock.
    @Test func aListenerIsHandedNoTokenThatMayLeaveItsIsolation() {
        let (channel, outer) = (LocalChannel<Int>(), Channel<Int>())
        var current: [ListenerToken?] = []
        let token = channel.listen { _ in current.append(ListenerToken.current) }
        channel.post(1)
        let around = outer.listen { _ in #expect(ListenerToken.current != nil) }
        outer.post(2)
        #expect(current == [nil])
        withExtendedLifetime((token, around)) {}
    }

    @Test func onceIsCalledOnceAlsoByANestedPost() {
        let channel = LocalChannel<Int>()
        var heard: [Int] = []
        let token = channel.listen(once: true) { [unowned channel] message in
            heard.append(message)
            channel.post(message + 1)
        }
        channel.post(1)
        channel.post(9)
        #expect(heard == [1])
        #expect(!token.isActive)
    }

    @Test func aChannelDeallocatedDuringAPostFinishesThatPost() {
        var channel: LocalChannel<Int>? = LocalChannel()
        var heard: [Int] = []
        let tokens = (0..<3).map { index in
            channel!.listen { _ in
                heard.append(index)
                channel = nil
            }
        }
        channel?.post(1)
        #expect(heard == [0, 1, 2])
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test func messagesNeedNotBeSendableAndAreReleased() {
        final class Letter { init() {} }
        let channel = LocalChannel<Letter>(reentrancy: .queued)
        weak var watched: Letter?
        var count = 0
        let token = channel.listen { [unowned channel] letter in
            count += 1
            if count < 3 { channel.post(letter) }
        }
        do {
            let letter = Letter()
            watched = letter
            channel.post(letter)
        }
        #expect(count == 3)
        #expect(watched == nil)
        withExtendedLifetime(token) {}
    }
}
