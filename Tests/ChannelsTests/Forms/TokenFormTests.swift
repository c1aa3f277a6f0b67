import Channels
import Dispatch
import Testing

struct TokenFormTests {
    let channel = Channel<Int>(onFault: { _ in })
    let owner = FormListener()

    @Test func cancelPauseResumeAndIsActive() {
        let token = channel.listen(owner) { me, number in me.hear("\(number)") }
        #expect(token.isActive)
        #expect(!token.isPaused)
        token.pause()
        #expect(token.isPaused)
        #expect(token.isActive)
        #expect(channel.post(1) == 0)
        #expect(channel.listenerCount == 1)
        token.resume()
        #expect(channel.post(2) == 1)
        token.cancel()
        token.cancel()
        #expect(!token.isActive)
        #expect(channel.post(3) == 0)
        #expect(owner.heard.all == ["2"])
    }

    @Test func cancelAndDrain() async {
        let token = channel.listen(owner, on: .global()) { me, number in me.hear("\(number)") }
        channel.post(1)
        await token.cancelAndDrain()
        #expect(!token.isActive)
        #expect(token.deliveredCount + token.discardedCount == 1)
        #expect(owner.heard.all.count == token.deliveredCount)
    }

    @Test func storeInASetEndsListenersTogether() {
        var tokens: Set<ListenerToken> = []
        channel.listen { [owner] number in owner.hear("a\(number)") }.store(in: &tokens)
        channel.listen { [owner] number in owner.hear("b\(number)") }.store(in: &tokens)
        channel.intercept { number in .replace(number + 1) }.store(in: &tokens)
        #expect(tokens.count == 3)
        #expect(channel.post(1) == 2)
        tokens.removeAll()
        #expect(channel.post(2) == 0)
        #expect(owner.heard.all == ["a2", "b2"])
    }

    @Test func tokensAreHashableByIdentity() {
        let first = channel.listen(owner) { _, _ in }
        let second = channel.listen(owner) { _, _ in }
        #expect(first == first)
        #expect(first != second)
        #expect(Set([first, second, first]).count == 2)
        #expect([first: 1, second: 2][second] == 2)
    }

    @Test func tokenOfAnOwnedListenerMayBeIgnored() {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.once(owner) { me, number in me.hear("\(number)") }
        channel.intercept(owner) { _, _ in .continue }
        #expect(channel.post(1) == 2)
    }

    @Test func accounts() async {
        let queue = DispatchQueue(label: "forms")
        queue.suspend()
        let token = channel.listen(owner, on: queue, buffering: .newest(2)) { me, number in me.hear("\(number)") }
        for number in 1...5 { channel.post(number) }
        #expect(token.waitingCount == 2)
        #expect(token.droppedCount == 3)
        #expect(token.deliveredCount == 0)
        #expect(token.discardedCount == 0)
        token.cancel()
        #expect(token.discardedCount == 2)
        queue.resume()
        await token.cancelAndDrain()
        #expect(owner.heard.all.isEmpty)
    }

    @Test func descriptionNamesTheSite() {
        let token = channel.listen(owner) { _, _ in }
        #expect("\(token)".contains(#fileID))
        #expect("\(token)".contains("active"))
    }

    @Test func tokensCrossIsolation() async {
        let token = channel.listen(owner) { _, _ in }
        await Task { @MainActor in token.cancel() }.value
        #expect(!token.isActive)
    }

    @Test func storeInACollectionEndsListenersTogether() {
        var tokens: [ListenerToken] = []
        var few: ContiguousArray<ListenerToken> = []
        channel.listen { [owner] number in owner.hear("a\(number)") }.store(in: &tokens)
        channel.listen { [owner] number in owner.hear("b\(number)") }.store(in: &few)
        #expect(channel.post(1) == 2)
        tokens = []
        #expect(channel.post(2) == 1)
        few.removeAll()
        #expect(channel.isEmpty)
        #expect(owner.heard.all == ["a1", "b1", "b2"])
        let local = LocalChannel<Int>()
        var locals: [LocalListenerToken] = []
        local.listen { _ in }.store(in: &locals)
        #expect(local.post(1) == 1)
        locals = []
        #expect(local.post(2) == 0)
    }
}
