/// Reads sales from comma-separated values (RFC 4180): a header that names the columns, and then one sale per
/// record.
///
/// The columns `total_bill`, `tip`, `day`, `time` and `size` may be in any order and among others. Lines may
/// end in LF or CRLF, and fields may be quoted. A byte-order mark and empty lines are skipped. A record that
/// is not a sale is reported with its line number, and left out. The memory used is limited by the size of
/// the text: only the first few reasons are kept, and the others are counted.
struct SaleReader {
    /// Why a line was left out.
    struct Malformed: Equatable, CustomStringConvertible {
        let line: Int
        let reason: String

        var description: String { "line \(line) skipped: \(reason)" }
    }

    /// Why the whole text could not be read.
    struct Unreadable: Error, Equatable, CustomStringConvertible {
        let description: String
        /// The malformed lines that may have been meant as sales.
        var malformed: [Malformed] = []
        var malformedCount = 0
    }

    private(set) var sales: [Sale] = []
    /// The first few of the lines that were left out.
    private(set) var malformed: [Malformed] = []
    private(set) var malformedCount = 0

    private static let reportedAtMost = 20
    /// The maximum number of different days and times, which bounds the number of questions.
    private static let differentAtMost = 366

    private static let columns = ["total_bill", "tip", "day", "time", "size"]

    init(_ bytes: [UInt8]) throws(Unreadable) {
        var records = RecordReader(bytes)
        guard let (line, header) = records.next() else { throw Unreadable(description: "it is empty") }
        var places: [Int] = []
        for column in Self.columns {
            switch header {
            case .failure(let reason): throw Unreadable(description: "its header, line \(line): \(reason)")
            case .success(let names):
                guard let place = names.firstIndex(of: column) else {
                    throw Unreadable(description: "its header, line \(line), has no column \(column)")
                }
                places.append(place)
            }
        }
        var days: Set<String> = []
        var times: Set<String> = []
        while let (line, record) = records.next() {
            do throws(Reason) {
                let sale = try Self.sale(record, places, columnCount: try header.get().count)
                try Self.note(sale.day, in: &days, "days")
                try Self.note(sale.time, in: &times, "times")
                sales.append(sale)
            } catch {
                malformedCount += 1
                if malformed.count < Self.reportedAtMost {
                    malformed.append(Malformed(line: line, reason: error.description))
                }
            }
        }
        if sales.isEmpty {
            throw Unreadable(
                description: "there is no sale in it",
                malformed: malformed,
                malformedCount: malformedCount
            )
        }
    }

    private static func note(_ value: String, in values: inout Set<String>, _ what: String) throws(Reason) {
        guard values.count < differentAtMost || values.contains(value) else {
            throw Reason("more than \(differentAtMost) different \(what)")
        }
        values.insert(value)
    }

    private static func sale(_ record: Result<[String], Reason>, _ places: [Int], columnCount: Int) throws(Reason)
        -> Sale
    {
        let fields = try record.get()
        guard fields.count == columnCount else {
            throw Reason("\(fields.count.of("field", "fields")) instead of \(columnCount)")
        }
        let bill = try cents(fields[places[0]], "total_bill")
        let tip = try cents(fields[places[1]], "tip")
        let (day, time) = (fields[places[2]], fields[places[3]])
        guard !day.isEmpty else { throw Reason("day is empty") }
        guard day.utf8.count <= 100, time.utf8.count <= 100 else {
            throw Reason("day or time is longer than 100 bytes")
        }
        let size = fields[places[4]]
        guard let guests = Int(size), (1...1_000).contains(guests) else {
            throw Reason("size \(shown(size)) is not a number from 1 to 1000")
        }
        return Sale(bill: bill, tip: tip, day: day, time: time, guests: guests)
    }

    /// The amount in cents, exactly: no floating point is involved.
    private static func cents(_ text: String, _ column: String) throws(Reason) -> Int {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }
        guard isNumber, let whole = parts.first, parts.count == 1 || parts[1].utf8.count <= 2 else {
            throw Reason("\(column) \(shown(text)) is not an amount such as 16.99")
        }
        guard whole.utf8.count <= 9, let dollars = Int(whole) else {
            throw Reason("\(column) \(shown(text)) is too large")
        }
        let fraction = parts.count == 2 ? String(parts[1]) : "0"
        return dollars * 100 + (Int(fraction) ?? 0) * (fraction.utf8.count == 1 ? 10 : 1)
    }

    /// A value of the feed for an error message: on one line, truncated, and harmless to a terminal.
    private static func shown(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(40)
        return "'\(String(start).printable)\(start.endIndex < text.unicodeScalars.endIndex ? "…" : "")'"
    }
}

/// The reason why a record is malformed.
struct Reason: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Splits a text into records, and records into fields.
struct RecordReader {
    private static let comma = UInt8(ascii: ","), quote = UInt8(ascii: "\""), newline = UInt8(ascii: "\n"),
        carriageReturn = UInt8(ascii: "\r")

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The next record that is not an empty line, and the line on which it begins.
    mutating func next() -> (line: Int, fields: Result<[String], Reason>)? {
        while position < bytes.count {
            let start = (position, line)
            var fields: [[UInt8]]? = [[]]
            if !readRecord(into: &fields!) {
                // A quotation mark that is never closed would swallow everything that follows. Only its own
                // line is given up.
                (position, line) = start
                skipLine()
                fields = nil
            }
            guard let fields else {
                return (start.1, .failure(Reason("a quotation mark is not closed, or text follows one")))
            }
            if fields == [[]] { continue }
            let texts = fields.compactMap { String(validating: $0, as: UTF8.self) }
            return (start.1, texts.count == fields.count ? .success(texts) : .failure(Reason("it is not UTF-8")))
        }
        return nil
    }

    private mutating func skipLine() {
        while position < bytes.count, bytes[position] != Self.newline { position += 1 }
        position += 1
        line += 1
    }

    /// Reads up to the end of a record. Returns false if its quotation marks do not match.
    private mutating func readRecord(into fields: inout [[UInt8]]) -> Bool {
        var wasQuoted = false
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case Self.newline:
                line += 1
                return true
            case Self.carriageReturn where position == bytes.count || bytes[position] == Self.newline: break
            case Self.comma:
                fields.append([])
                wasQuoted = false
            case Self.quote:
                guard !wasQuoted, fields[fields.count - 1].isEmpty, readQuoted(into: &fields[fields.count - 1]) else {
                    return false
                }
                wasQuoted = true
            default:
                guard !wasQuoted else { return false }
                fields[fields.count - 1].append(byte)
            }
        }
        return true
    }

    /// Reads from after an opening quotation mark through the closing one. Returns false if there is none.
    private mutating func readQuoted(into field: inout [UInt8]) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == Self.newline { line += 1 }
            if byte == Self.quote {
                guard position < bytes.count, bytes[position] == Self.quote else { return true }
                position += 1
            }
            field.append(byte)
        }
        return false
    }
}
