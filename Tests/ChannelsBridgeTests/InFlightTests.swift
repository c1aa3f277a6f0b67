import ChannelsTesting
import Testing

@testable import ChannelsBridge

/// The messages that are with their listeners when a bridge ends.
@Suite(.hangLimit)
struct InFlightTests {
    private typealias Part = InFlight.Part

    @Test func theEndWaitsForTheLastPart() async {
        let (inFlight, hasEnded) = (InFlight(), Gate())
        // One that has not begun is not waited for.
        let other = Part(of: inFlight, nil)
        var parts = [Part(of: inFlight, nil), Part(of: inFlight, nil)]
        for part in parts { part.begin() }
        let ending = Task {
            await inFlight.wait()
            hasEnded.open()
        }
        parts.removeLast()
        await Task.yield()
        #expect(!hasEnded.isOpen)
        parts.removeLast()
        await ending.value
        withExtendedLifetime(other) {}
    }

    @Test func whoIsAbandonedIsWaitedForNeitherBeforeNorAfter() async {
        let inFlight = InFlight()
        let part = Part(of: inFlight, nil)
        part.begin()
        let ending = Task { await inFlight.wait() }
        await Task.yield()
        #expect(inFlight.abandon() == 1)
        await ending.value
        await inFlight.wait()
        withExtendedLifetime(part) {}
    }
}
