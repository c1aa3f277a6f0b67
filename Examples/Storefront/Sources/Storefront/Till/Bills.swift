import Foundation

/// The real bills that the feed replays: 244 from a restaurant, over and over. See
/// Resources/LICENSE-tips.txt.
struct Bills: Sendable {
    /// What the ids of these sales begin with. No other sale may use it.
    static let prefix = "bill-"

    private let lines: [Substring]

    init() throws {
        let file = Bundle.module.bundleURL.appending(path: "tips.csv")
        lines = try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline).dropFirst().map { $0 }
    }

    /// The bill with a number, counted from 1. Every number has a bill, and always the same one.
    subscript(number: Int) -> Sale {
        // total_bill, tip, sex, smoker, day, time, size
        let fields = lines[(number - 1) % lines.count].split(separator: ",")
        let guests = Int(fields[6]) ?? 1
        return Sale(
            id: "\(Self.prefix)\(number)",
            name: "\(Self.days[fields[4]] ?? fields[4]), table of \(guests)",
            menu: .init(rawValue: String(fields[5])) ?? .dinner,
            guests: guests,
            bill: Self.cents(fields[0]),
            tip: Self.cents(fields[1])
        )
    }

    private static let days: [Substring: Substring] = [
        "Thur": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
    ]

    private static func cents(_ dollars: Substring) -> Int { Int(((Double(dollars) ?? 0) * 100).rounded()) }
}
