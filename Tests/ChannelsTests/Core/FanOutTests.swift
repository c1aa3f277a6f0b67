import Testing

@testable import Channels

/// What may follow from one post.
struct FanOutTests {
    @Test func whatAListenerPostsBecauseOfTheFirstMessageCostsNothing() {
        var fanOut = FanOut()
        for depth in 1...2 {
            for _ in 0..<1_100_000 { fanOut.add(depth: depth) }
            let hasRoom = fanOut.hasRoom(depth: depth)
            #expect(hasRoom)
        }
    }

    @Test(arguments: [(3, 1 << 20), (4, 1 << 19), (8, 1 << 15), (9, 1 << 14), (20, 1 << 14)])
    func theDeeperAPostTheFewerMayWait(depth: Int, most: Int) {
        var fanOut = FanOut()
        var count = 0
        while fanOut.hasRoom(depth: depth) {
            fanOut.add(depth: depth)
            count += 1
        }
        #expect(count == most)
    }

    @Test func oncePostsAreRefusedAllThatFollowFromAnotherAreUntilEverythingHasBeenDelivered() {
        var fanOut = FanOut()
        while fanOut.hasRoom(depth: 9) { fanOut.add(depth: 9) }
        var rooms = [fanOut.hasRoom(depth: 2), fanOut.hasRoom(depth: 1)]
        #expect(rooms == [false, true] && fanOut.refused == 2)
        for _ in 0..<(1 << 14) { fanOut.deliver(depth: 9) }
        rooms = [fanOut.hasRoom(depth: 2)]
        #expect(rooms == [false] && fanOut.refused == 3, "one that follows from none has to come first")
        fanOut.deliver(depth: 1)
        rooms = [fanOut.hasRoom(depth: 2), fanOut.hasRoom(depth: 9)]
        #expect(rooms == [true, true])
        // The next time, they are counted anew.
        while fanOut.hasRoom(depth: 9) { fanOut.add(depth: 9) }
        #expect(fanOut.refused == 1)
    }

    /// Posts made inside others on one thread, which no lane counts.
    @Test func theNextTimeThatPostsInsideOthersAreRefusedTheyAreCountedAnew() {
        let thread = ThreadReference.current
        let (depth, spent) = (thread.pointee.depth, thread.pointee.spent)
        defer { (thread.pointee.depth, thread.pointee.spent) = (depth, spent) }
        func refusals() -> Int {
            thread.pointee.depth = 9
            thread.pointee.spent = 1 << 25
            return thread.pointee.spend()
        }
        #expect(refusals() == 1 && refusals() == 2)
        thread.pointee.spent = 0
        #expect(thread.pointee.spend() == 0)
        #expect(refusals() == 1)
    }

    @Test func whatStillWaitsKeepsOthersOut() {
        var fanOut = FanOut()
        while fanOut.hasRoom(depth: 9) { fanOut.add(depth: 9) }
        fanOut.deliver(depth: 9)
        fanOut.deliver(depth: 1)
        let hasRoom = fanOut.hasRoom(depth: 2)
        #expect(!hasRoom)
    }
}
