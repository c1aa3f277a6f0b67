/// What the page shows. It is a state, so that a late listener receives its current value and then every
/// change.
struct Office: Encodable, Sendable {
    static let recentCount = 8

    /// Increases by one with each change, so that two versions tell how many changes are between them.
    private(set) var version = 0
    var sales = 0
    var guests = 0
    /// In cents.
    var takings = 0
    /// In cents.
    var tips = 0
    /// Sales that the fraud check has stopped since the start.
    var held = 0
    /// The number of receipts sent.
    var mailed = 0
    var stock = Stock()
    /// The latest sales, newest first.
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
