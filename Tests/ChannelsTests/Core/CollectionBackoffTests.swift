import Testing

@testable import Channels

struct CollectionBackoffTests {
    @Test func looksAreRepeatedAfterTwiceTheTimeUntilNothingIsLeft() {
        var backoff = CollectionBackoff()
        var waits: [Int?] = [backoff.begin() ? 1 : nil]
        for milliseconds in [1, 2, 4] { waits.append(backoff.end(after: milliseconds, isEmpty: false)) }
        waits.append(backoff.end(after: 8, isEmpty: true))
        #expect(waits == [1, 2, 4, 8, nil])
    }

    @Test func whatIsRetiredLateIsLookedForInAMillisecond() {
        var backoff = CollectionBackoff()
        _ = backoff.begin()
        for milliseconds in [1, 2, 4] { _ = backoff.end(after: milliseconds, isEmpty: false) }
        let begins = [backoff.begin(), backoff.begin()]
        #expect(begins == [true, false])
    }

    /// Whichever comes first.
    @Test(arguments: [false, true]) func ofTwoLooksThatOverlapOneGoesOn(meets: Bool) {
        var backoff = CollectionBackoff()
        _ = backoff.begin()
        for milliseconds in [1, 2, 4] { _ = backoff.end(after: milliseconds, isEmpty: false) }
        _ = backoff.begin()
        // The old one waits for 8 ms, the new one for 1, 2, 4 and, where they meet, 8.
        for milliseconds in meets ? [1, 2, 4] : [1] { _ = backoff.end(after: milliseconds, isEmpty: false) }
        let waits = [backoff.end(after: 8, isEmpty: false), backoff.end(after: 8, isEmpty: false)]
        #expect(waits == (meets ? [16, nil] : [nil, nil]))
    }
}
