import Testing

@testable import Channels

/// Who has posted what waits in a lane.
struct OwnPostersTests {
    @Test func aPosterIsKnownAsLongAsOneOfItsMessagesWaits() {
        var posters = OwnPosters()
        let (first, second) = (posters.add(1), posters.add(2))
        #expect(first != second && first != 0 && second != 0)
        let again = posters.add(1)
        #expect(again == first)
        #expect(posters.contains(1) && posters.contains(2) && !posters.contains(3))
        posters.remove(1, of: first)
        #expect(posters.contains(1))
        posters.remove(1, of: first)
        #expect(!posters.contains(1) && posters.contains(2))
        // Its place is free for another.
        let third = posters.add(3)
        #expect(third == first && posters.contains(3) && !posters.contains(1))
        // No poster.
        posters.remove(1, of: 0)
        #expect(posters.contains(3) && posters.contains(2))
    }

    /// Which may make a post wait that need not, and never the other way round.
    @Test func beyondSixtyFourPostersEachMayHavePostedWhileAMessageOfAnyOtherWaits() {
        var posters = OwnPosters()
        let numbers = (1...64).map { posters.add($0) }
        #expect(Set(numbers).count == 64 && !posters.contains(65))
        let others = [posters.add(65), posters.add(66), posters.add(65)]
        #expect(Set(others).count == 1 && !numbers.contains(others[0]) && others[0] != 0)
        #expect(posters.contains(65) && posters.contains(1_000))
        posters.remove(2, of: others[0])
        #expect(posters.contains(1_000))
        posters.remove(1, of: others[0])
        #expect(!posters.contains(1_000) && !posters.contains(65) && posters.contains(64))
        for number in numbers { posters.remove(1, of: number) }
        #expect(!(1...64).contains { posters.contains($0) })
    }
}
