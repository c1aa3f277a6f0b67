/// When posts were counted and when not, and how many there are likely to have been: a pure state machine.
///
/// A slice ends with the post that uses up what counting may cost, so its length says how fast posts came. That is
/// taken for the rate until the next slice. Times are in nanoseconds, and posts are those counted so far; neither
/// goes back.
struct CountedSlices {
    /// When this slice began, or the last one.
    private var begin = 0
    /// How many posts had been counted then.
    private var before = 0
    /// When it ended; nil while it lasts.
    private var end: Int?
    /// Posts in a nanosecond, in the slice that ended.
    private var rate = 0.0
    /// Posts that were made between slices, as far as that can be told.
    private var uncounted = 0.0
    /// Since when, and for how long of that nothing was counted.
    private var start = 0
    private var gaps = 0

    var isOpen: Bool { end == nil }

    init(at time: Int) { (begin, start) = (time, time) }

    /// How fast posts come is told from here on: those before, in the same slice, were slowed.
    mutating func takeRate(from time: Int, posts: Int) { (begin, before) = (time, posts) }

    /// Ends a slice.
    ///
    /// - Parameter cost: Nanoseconds by which counting slows a post. That is not the rate between slices; how many
    ///   threads were slowed at the same time is not known, so not all of it may be true.
    mutating func stop(at time: Int, posts: Int, cost: Int) {
        guard isOpen else { return }
        end = time
        // The last one ended the slice: without it, the estimate is not too high.
        let count = max(posts - before - 1, 0)
        let length = Double(max(time - begin, 1))
        rate = Double(count) / max(length - Double(count * cost), length * Self.leastPart)
    }

    /// The part of a slice that posts would take at least if they were not counted.
    private static let leastPart = 0.4

    /// Begins another.
    mutating func goOn(at time: Int, posts: Int) {
        guard let end else { return }
        gaps += max(time - end, 0)
        uncounted += rate * Double(max(time - end, 0))
        (begin, before, self.end) = (time, posts, nil)
    }

    /// What a number of posts counted stands for. Never less than at an earlier time.
    func all(at time: Int, posts: Int) -> Int {
        posts + Int(uncounted + rate * Double(gap(at: time)))
    }

    /// The share of the time in which posts were counted; nil if they always were.
    func share(at time: Int) -> Double? {
        let uncountedTime = gaps + gap(at: time)
        guard !isOpen || gaps > 0 else { return nil }
        return max(0, 1 - Double(uncountedTime) / Double(max(time - start, 1)))
    }

    /// How long nothing has been counted.
    private func gap(at time: Int) -> Int { end.map { max(time - $0, 0) } ?? 0 }
}
