/// One bill of the feed. Amounts are in cents.
struct Sale: Sendable, Equatable, Codable {
    let bill: Int
    let tip: Int
    let day: String
    let time: String
    let guests: Int
}

extension [Sale] {
    /// The values of a field, each once, in order of first appearance.
    func distinct(_ field: (Sale) -> String) -> [String] {
        var seen: Set<String> = []
        return map(field).filter { seen.insert($0).inserted }
    }
}

/// The sums of several sales.
struct Totals: Sendable, Equatable, Codable {
    var sales = 0
    var bills = 0
    var tips = 0
    var guests = 0

    var counts: String { "\(sales.of("sale", "sales")), \(guests.of("guest", "guests"))" }

    mutating func add(_ sale: Sale) {
        sales += 1
        bills += sale.bill
        tips += sale.tip
        guests += sale.guests
    }
}

extension Int {
    /// Formats a number of cents: `$4,827.77`.
    var dollars: String {
        let (whole, cents) = quotientAndRemainder(dividingBy: 100)
        var digits = String(whole)
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: index))
            index -= 3
        }
        return "$\(digits).\(cents < 10 ? "0" : "")\(cents)"
    }
}
