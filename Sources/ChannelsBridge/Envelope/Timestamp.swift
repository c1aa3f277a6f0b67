#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A time between the years 0 and 9999, formatted as in RFC 3339, in UTC. Times outside that range are
/// clamped to it.
package struct Timestamp: Hashable, Sendable {
    package let secondsSince1970: Double

    package init(secondsSince1970: Double) {
        self.secondsSince1970 = min(max(secondsSince1970, -62_167_219_200), 253_402_300_799)
    }

    /// Reads RFC 3339, with `Z` or an offset, and any fraction of a second. Nil for anything else.
    package init?(_ text: String) {
        var rest = Scanner(bytes: text[...].utf8)
        guard let year = rest.number(4), rest.takes("-"), let month = rest.number(2), rest.takes("-"),
            let day = rest.number(2), rest.takes("T") || rest.takes("t") || rest.takes(" "),
            let hour = rest.number(2), rest.takes(":"), let minute = rest.number(2), rest.takes(":"),
            let second = rest.number(2), let fraction = rest.fraction(), let offset = rest.offset(), rest.bytes.isEmpty,
            1...12 ~= month, 1...Self.days(month, year) ~= day, hour < 24, minute < 60, second <= 60
        else { return nil }
        // The days since 1970 in a calendar whose year begins in March, so that a leap day is its last day.
        // Years are counted from 400 years before the year 0, so that nothing is negative.
        let shifted = year + 400 - (month <= 2 ? 1 : 0)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        let days = shifted * 365 + leapDays + dayOfYear - 719_468 - 146_097
        let whole = Double(days) * 86_400 + Double(hour * 3_600 + minute * 60 + second)
        self.init(secondsSince1970: whole + fraction - offset)
    }

    private static func days(_ month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    package static var now: Timestamp { Timestamp(secondsSince1970: Date().timeIntervalSince1970) }

    /// `2026-01-31T12:34:56.789Z`.
    package var text: String {
        // The proleptic Gregorian calendar in cycles of 400 years, or 146,097 days. A year here begins in
        // March. Cycles are counted from 400 years before the year 0, so that nothing is negative.
        let milliseconds = Int64((secondsSince1970 * 1_000).rounded(.down)) + (719_468 + 146_097) * 86_400_000
        // From here on, every number fits into an `Int` of 32 bits.
        let (cycle, day) = Int(milliseconds / 86_400_000).quotientAndRemainder(dividingBy: 146_097)
        let second = Int(milliseconds / 1_000 % 86_400)
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let calendarMonth = month < 10 ? month + 3 : month - 9
        let calendarYear = year + (cycle - 1) * 400 + (calendarMonth <= 2 ? 1 : 0)
        // Written digit by digit, because every message has a time. The indices stay below the capacity, and
        // each of the 24 bytes is written.
        return unsafe String(unsafeUninitializedCapacity: 24) { text in
            var end = 0
            func write(_ number: Int, digits: Int, then separator: Unicode.Scalar) {
                var rest = number
                for place in (0..<digits).reversed() {
                    unsafe text[end + place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                unsafe text[end + digits] = UInt8(ascii: separator)
                end += digits + 1
            }
            write(calendarYear, digits: 4, then: "-")
            write(calendarMonth, digits: 2, then: "-")
            write(dayOfMonth, digits: 2, then: "T")
            write(second / 3_600, digits: 2, then: ":")
            write(second / 60 % 60, digits: 2, then: ":")
            write(second % 60, digits: 2, then: ".")
            write(Int(milliseconds % 1_000), digits: 3, then: "Z")
            return end
        }
    }
}

/// Reads the parts of a time.
private struct Scanner {
    var bytes: Substring.UTF8View

    mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard bytes.first == UInt8(ascii: character) else { return false }
        bytes.removeFirst()
        return true
    }

    mutating func digit() -> Int? {
        guard let byte = bytes.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        bytes.removeFirst()
        return Int(byte) - 48
    }

    mutating func number(_ digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// The fraction of a second: 0 if there is none, nil for a point without digits.
    mutating func fraction() -> Double? {
        guard takes(".") else { return 0 }
        guard var value = digit().map({ Double($0) / 10 }) else { return nil }
        var scale = 0.01
        while let digit = digit() { (value, scale) = (value + Double(digit) * scale, scale / 10) }
        return value
    }

    /// How many seconds local time is ahead of UTC.
    mutating func offset() -> Double? {
        if takes("Z") || takes("z") { return 0 }
        let isBehind = takes("-")
        guard isBehind || takes("+"), let hour = number(2), takes(":"), let minute = number(2), hour < 24, minute < 60
        else { return nil }
        return Double(hour * 3_600 + minute * 60) * (isBehind ? -1 : 1)
    }
}
