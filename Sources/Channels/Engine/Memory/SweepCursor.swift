/// The position of a search that visits a few elements of a changing array at a time.
struct SweepCursor {
    private var position = 0

    /// Returns at most `most` of the next elements; starts over at the end.
    mutating func next<Element>(_ most: Int, of elements: [Element]) -> [Element] {
        (0..<min(most, elements.count)).map { _ in
            position = position + 1 < elements.count ? position + 1 : 0
            return elements[position]
        }
    }
}
