/// Where a search that visits a few elements of an array at a time continues. The array may change in between.
struct SweepCursor {
    private var position = 0

    /// The next elements, at most so many; starts over at the end.
    mutating func next<Element>(_ most: Int, of elements: [Element]) -> [Element] {
        (0..<min(most, elements.count)).map { _ in
            position = position + 1 < elements.count ? position + 1 : 0
            return elements[position]
        }
    }
}
