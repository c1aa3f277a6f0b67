/// The listeners of one rank in one list. The list's lock guards `tail`; the rest is constant.
final class PriorityLevel: @unchecked Sendable {  // guards: see above
    let rank: DeliveryRank
    let list: ListenerList
    /// The address of the last listener of this level, or 0. The list keeps that listener alive.
    @safe @exclusivity(unchecked) var tail: UInt = 0

    init(_ rank: DeliveryRank, of list: ListenerList) {
        self.rank = rank
        self.list = list
    }
}

/// A place in the order of delivery: interceptors precede listeners, and within each group higher priorities come
/// first.
struct DeliveryRank {
    let isInterceptor: Bool
    let priority: Int

    static func == (left: Self, right: Self) -> Bool {
        left.isInterceptor == right.isInterceptor && left.priority == right.priority
    }

    static func > (left: Self, right: Self) -> Bool {
        left.isInterceptor == right.isInterceptor ? left.priority > right.priority : left.isInterceptor
    }
}
