#if Inspector
internal import Channels

/// How the time that counting and tracing may take is shared among the channels.
struct Shares: Sendable, Equatable {
    /// The shares of the time that all channels may take together: far below the hundredth that is promised, because
    /// looking costs something, too.
    static let total = Shares(counting: 0.002, tracing: 0.002)

    /// What one channel takes, or may take, of the time: from 0 to 1.
    var counting: Double
    var tracing: Double

    init(counting: Double, tracing: Double) {
        self.counting = counting
        self.tracing = tracing
    }

    /// What a channel would take if all its posts were counted and traced.
    init(_ postsInASecond: Double, listeners: Int) {
        counting = postsInASecond * Double(MeteringAllowance.costOfCounting(listeners: listeners)) / 1e9
        // With the text of a message, which takes about as long as the rest.
        tracing = postsInASecond * 2 * Double(MeteringAllowance.costOfTracing(listeners: listeners)) / 1e9
    }

    /// What each channel may take so that all together stay within the total: as many as possible have all they need,
    /// and the others the same.
    init(_ needs: [Shares]) {
        counting = Self.level(needs.map(\.counting), within: Self.total.counting)
        tracing = Self.level(needs.map(\.tracing), within: Self.total.tracing)
    }

    private static func level(_ needs: [Double], within total: Double) -> Double {
        let needs = needs.filter { $0 > 0 }.sorted()
        var left = total
        for (index, need) in needs.enumerated() {
            let each = left / Double(needs.count - index)
            if need > each { return each }
            left -= need
        }
        return max(left, needs.last ?? 0)
    }
}
#endif
