/// What the page shows: a state, so that who comes late gets it as it is, and then every change.
struct Office: Encodable, Sendable {
    static let recentCount = 8

    /// One more with each change: who knows two versions knows how many changes lie between them.
    private(set) var version = 0
    var sales = 0
    var guests = 0
    /// In cents.
    var takings = 0
    /// In cents.
    var tips = 0
    /// Sales that the fraud check has stopped since the start.
    var held = 0
    /// Receipts sent.
    var mailed = 0
    var stock = Stock()
    /// The last sales, the newest first.
    var recent: [Booking] = []

    mutating func add(_ booking: Booking) {
        version += 1
        sales += 1
        guests += booking.sale.guests
        takings += booking.sale.bill
        tips += booking.sale.tip
        recent.insert(booking, at: 0)
        if recent.count > Self.recentCount { recent.removeLast() }
    }

    mutating func hold() {
        version += 1
        held += 1
    }

    mutating func mail(_ count: Int) {
        version += 1
        mailed += count
    }

    mutating func show(_ stock: Stock) {
        version += 1
        self.stock = stock
    }
}
