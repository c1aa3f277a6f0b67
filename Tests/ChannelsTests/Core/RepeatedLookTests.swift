import Testing

@testable import Channels

struct RepeatedLookTests {
    @Test func looksAreRepeatedAfterTwiceTheTimeUntilNothingIsLeft() {
        var look = RepeatedLook()
        var waits: [Int?] = [look.begin() ? 1 : nil]
        for milliseconds in [1, 2, 4] { waits.append(look.end(after: milliseconds, isEmpty: false)) }
        waits.append(look.end(after: 8, isEmpty: true))
        #expect(waits == [1, 2, 4, 8, nil])
    }

    @Test func whatIsRetiredLateIsLookedForInAMillisecond() {
        var look = RepeatedLook()
        _ = look.begin()
        for milliseconds in [1, 2, 4] { _ = look.end(after: milliseconds, isEmpty: false) }
        let begins = [look.begin(), look.begin()]
        #expect(begins == [true, false])
    }

    /// Whichever comes first.
    @Test(arguments: [false, true]) func ofTwoLooksThatOverlapOneGoesOn(meets: Bool) {
        var look = RepeatedLook()
        _ = look.begin()
        for milliseconds in [1, 2, 4] { _ = look.end(after: milliseconds, isEmpty: false) }
        _ = look.begin()
        // The old one waits for 8 ms, the new one for 1, 2, 4 and, where they meet, 8.
        for milliseconds in meets ? [1, 2, 4] : [1] { _ = look.end(after: milliseconds, isEmpty: false) }
        let waits = [look.end(after: 8, isEmpty: false), look.end(after: 8, isEmpty: false)]
        #expect(waits == (meets ? [16, nil] : [nil, nil]))
    }
}
