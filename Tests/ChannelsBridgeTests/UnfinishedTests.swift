import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// The messages that are with their listeners when a bridge ends.
@Suite(.hangLimit)
struct UnfinishedTests {
    private typealias Part = Unfinished.Part

    @Test func theEndWaitsForTheLastPart() async {
        let (unfinished, hasEnded) = (Unfinished(), Gate())
        var parts = [Part(nil), Part(nil)]
        for part in parts { unfinished.begin(part) }
        let ending = Task {
            await unfinished.end()
            hasEnded.open()
        }
        parts.removeLast()
        await Task.yield()
        #expect(!hasEnded.isOpen)
        parts.removeLast()
        await ending.value
    }

    @Test func whoIsAbandonedIsWaitedForNeitherBeforeNorAfter() async {
        let unfinished = Unfinished()
        let part = Part(nil)
        unfinished.begin(part)
        let ending = Task { await unfinished.end() }
        await Task.yield()
        #expect(unfinished.abandon() == 1)
        await ending.value
        await unfinished.end()
        withExtendedLifetime(part) {}
    }
}
