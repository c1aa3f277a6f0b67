/// When something is counted, where what that may cost is limited: in slices, each paid from an allowance.
///
/// Only transitions: its owner's lock guards it.
struct Ration {
    var slices = CountedSlices(at: 0)
    /// When what is due was last taken.
    private var renewed = 0
    /// In whose queue the owner is.
    private var waitsFor: MeteringAllowance?

    /// Counting has cost as much as it may.
    ///
    /// - Returns: The allowance, if the owner is to be put into its queue.
    mutating func stop(at time: Int, posts: Int, cost: Int, of allowance: MeteringAllowance?) -> MeteringAllowance? {
        slices.stop(at: time, posts: posts, cost: cost)
        guard waitsFor != allowance else { return nil }
        waitsFor = allowance
        return allowance
    }

    /// An allowance has been renewed: counting goes on, if it is the owner's. See ``Rationed/renew(_:goesOn:)``.
    ///
    /// - Returns: Whether the owner takes what is due.
    mutating func renew(
        _ allowance: MeteringAllowance,
        goesOn: Bool,
        of own: MeteringAllowance?,
        at time: Int,
        posts: Int
    ) -> Bool {
        if goesOn, waitsFor == allowance { waitsFor = nil }
        guard own == allowance, slices.isOpen || goesOn else { return false }
        slices.goOn(at: time, posts: posts)
        return true
    }

    /// Nanoseconds of counting, and of tracing, that are due since the last time; nil without an allowance.
    mutating func takeDue(of allowance: MeteringAllowance?, at time: Int) -> (counting: Int, tracing: Int)? {
        let elapsed = renewed == 0 ? MeteringAllowance.first : time - renewed
        renewed = time
        return allowance?.due(after: elapsed)
    }
}
