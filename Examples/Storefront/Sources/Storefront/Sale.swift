import Channels

/// A bill that somebody paid. Amounts are in cents.
struct Sale: Codable, Hashable, Sendable {
    enum Menu: String, Codable, CaseIterable, Sendable {
        case lunch = "Lunch"
        case dinner = "Dinner"
    }

    /// Chosen by whoever rings up the sale. A sale with the same id is the same sale.
    let id: String
    let name: String
    let menu: Menu
    let guests: Int
    let bill: Int
    let tip: Int
}

/// A sale in the ledger, and its number there.
struct Booking: Codable, Hashable, Sendable {
    let number: Int
    let sale: Sale
}

// The messages of this program, and their names. If there are two processes, messages under names that begin
// with `till.` are stored until they are booked.
extension ChannelName<Sale> {
    /// Somebody pays. When the post has ended without an error, the sale is in the ledger.
    static var rung: Self { "till.rung" }
}

extension ChannelName<Booking> {
    /// A sale is in the ledger. Posted once per sale, in the order of the ledger.
    static var booked: Self { "office.booked" }
    /// A receipt is due. Stored with its sale, and delivered until it is mailed.
    static var receipt: Self { "office.receipt" }
}

extension StateName<Office> {
    /// What the page shows.
    static var office: Self { "office.now" }
}

extension StateName<Int?> {
    /// How many bills of the feed are in the ledger; nil until the ledger says so.
    static var billsBooked: Self { "office.bills" }
}

extension Sale {
    /// Decodes a sale from HTTP or a broker, and validates it.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        name = try values.decode(String.self, forKey: .name)
        menu = try values.decode(Menu.self, forKey: .menu)
        guests = try values.decode(Int.self, forKey: .guests)
        bill = try values.decode(Int.self, forKey: .bill)
        tip = try values.decode(Int.self, forKey: .tip)
        if let mistake {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: mistake))
        }
    }

    private var mistake: String? {
        let isID = (1...64).contains(id.utf8.count) && id.utf8.allSatisfy { Self.idCharacters.contains($0) }
        if !isID { return "id: 1 to 64 letters, digits, '-', '.' or '_'" }
        if !(1...200).contains(name.utf8.count) { return "name: 1 to 200 bytes" }
        if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            return "name: no control characters"
        }
        if !(1...1_000).contains(guests) { return "guests: 1 to 1000" }
        if !(1...100_000_000).contains(bill) { return "bill: 1 to 100000000 cents" }
        if !(0...100_000_000).contains(tip) { return "tip: 0 to 100000000 cents" }
        return nil
    }

    private static let idCharacters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._".utf8)
}
