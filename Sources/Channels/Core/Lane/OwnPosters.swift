/// Who has posted on a lane's actor what waits in the lane (``Lane/poster``), and how many messages of each wait.
///
/// So many are told apart. While a message of any other waits, one of everybody's does.
struct OwnPosters {
    private static let most = 64
    /// The number of those who are not told apart; 0 is no poster. The others' numbers follow.
    private static let other: UInt16 = 1

    private var posters: [(poster: Int, count: Int)] = []
    private var otherCount = 0

    /// Counts a message of a poster.
    ///
    /// - Returns: The poster's number.
    mutating func add(_ poster: Int) -> UInt16 {
        let known = posters.firstIndex { $0.poster == poster && $0.count > 0 }
        guard let index = known ?? posters.firstIndex(where: { $0.count == 0 }) ?? addOne() else {
            otherCount += 1
            return Self.other
        }
        posters[index] = (poster, posters[index].count + 1)
        return Self.other + 1 + UInt16(index)
    }

    private mutating func addOne() -> Int? {
        guard posters.count < Self.most else { return nil }
        posters.append((0, 0))
        return posters.count - 1
    }

    /// So many messages of a poster do not wait any more.
    mutating func remove(_ count: Int, of number: UInt16) {
        if number > Self.other {
            // One that `add` has returned; they do not become fewer.
            posters[Int(number - Self.other) - 1].count -= count
        } else if number == Self.other {
            otherCount -= count
        }
    }

    /// Whether a message of a poster waits.
    func contains(_ poster: Int) -> Bool {
        otherCount > 0 || posters.contains { $0.poster == poster && $0.count > 0 }
    }
}
