import Testing

@testable import tour

struct SaleReaderTests {
    private let header = "total_bill,tip,sex,smoker,day,time,size\n"

    private func read(_ text: String) throws -> SaleReader { try SaleReader(Array(text.utf8)) }

    @Test func theSalesThatComeAlongAreReadToTheLast() throws {
        let reader = try SaleReader(PackageResources.tips_csv)
        #expect(reader.sales.count == 244)
        #expect(reader.malformed.isEmpty)
        #expect(reader.sales.first == Sale(bill: 1_699, tip: 101, day: "Sun", time: "Dinner", guests: 2))
        #expect(reader.sales.last == Sale(bill: 1_878, tip: 300, day: "Thur", time: "Dinner", guests: 2))
    }

    @Test func amountsAreExactInCents() throws {
        let reader = try read(header + "0.29,3,F,No,Sun,Dinner,2\n1.1,0.07,F,No,Sun,Dinner,2\n")
        #expect(reader.sales.map(\.bill) == [29, 110])
        #expect(reader.sales.map(\.tip) == [300, 7])
    }

    @Test(arguments: ["\n", "\r\n"]) func linesMayEndInEitherWay(end: String) throws {
        let text = "\u{FEFF}" + header + "\n1.00,0.50,F,No,Sun,Dinner,2\n\n2.00,0.50,F,No,Sat,Lunch,3"
        let reader = try read(text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: end))
        #expect(reader.sales.map(\.day) == ["Sun", "Sat"])
        #expect(reader.malformed.isEmpty)
    }

    @Test func fieldsMayBeQuotedAndColumnsInAnyOrder() throws {
        let reader = try read(
            "day,\"note\",size,time,tip,total_bill\n\"Sun, \"\"late\"\"\",\"two\nlines\",2,Dinner,\"0.50\",1\nSat,,1,Lunch,0,2\nx"
        )
        #expect(reader.sales.map(\.day) == ["Sun, \"late\"", "Sat"])
        // The record above spans two lines.
        #expect(reader.malformed.map(\.line) == [5])
    }

    @Test(arguments: [
        ("1.00,0.50,F,No,Sun,Dinner", "6 fields instead of 7"),
        ("1.00,0.50,F,No,Sun,Dinner,2,3", "8 fields instead of 7"),
        ("x", "1 field instead of 7"),
        ("-1.00,0.50,F,No,Sun,Dinner,2", "total_bill '-1.00' is not an amount such as 16.99"),
        ("1.00,abc,F,No,Sun,Dinner,2", "tip 'abc' is not an amount such as 16.99"),
        ("1.005,0,F,No,Sun,Dinner,2", "total_bill '1.005' is not an amount such as 16.99"),
        ("1e3,0,F,No,Sun,Dinner,2", "total_bill '1e3' is not an amount such as 16.99"),
        (".5,0,F,No,Sun,Dinner,2", "total_bill '.5' is not an amount such as 16.99"),
        ("1.,0,F,No,Sun,Dinner,2", "total_bill '1.' is not an amount such as 16.99"),
        ("99999999999999999999,0,F,No,Sun,Dinner,2", "total_bill '99999999999999999999' is too large"),
        ("1,0,F,No,Sun,Dinner,0", "size '0' is not a number from 1 to 1000"),
        ("1,0,F,No,Sun,Dinner,99999999999999999999", "size '99999999999999999999' is not a number from 1 to 1000"),
        ("NaN,0,F,No,Sun,Dinner,2", "total_bill 'NaN' is not an amount such as 16.99"),
        ("1,inf,F,No,Sun,Dinner,2", "tip 'inf' is not an amount such as 16.99"),
        ("1,,F,No,Sun,Dinner,2", "tip '' is not an amount such as 16.99"),
        ("\"1,000.00\",0,F,No,Sun,Dinner,2", "total_bill '1,000.00' is not an amount such as 16.99"),
        ("1,0,F,No,Sun,Dinner,NaN", "size 'NaN' is not a number from 1 to 1000"),
        ("1,0,F,No,,Dinner,2", "day is empty"),
        ("1,0,F,No,\(String(repeating: "S", count: 101)),Dinner,2", "day or time is longer than 100 bytes"),
        ("1,0,F,No,Sun,\(String(repeating: "D", count: 101)),2", "day or time is longer than 100 bytes"),
        (
            "\(String(repeating: "9", count: 50)),0,F,No,Sun,Dinner,2",
            "total_bill '\(String(repeating: "9", count: 40))…' is too large"
        ),
        ("\u{1B}[31m,0,F,No,Sun,Dinner,2", "total_bill '\\u{1B}[31m' is not an amount such as 16.99"),
        ("1,0,\"F,No,Sun,Dinner,2", "a quotation mark is not closed, or text follows one"),
        ("1,0,\"F\"x,No,Sun,Dinner,2", "a quotation mark is not closed, or text follows one"),
    ])
    func aMalformedLineIsReportedWithItsNumberAndSkipped(line: String, reason: String) throws {
        let reader = try read(header + "1,0,F,No,Sun,Dinner,2\n" + line + "\n3,0,F,No,Sun,Dinner,4\n")
        #expect(reader.malformed == [.init(line: 3, reason: reason)])
        #expect(reader.malformedCount == 1)
        #expect(reader.sales.map(\.guests) == [2, 4])
    }

    @Test func theFirstMalformedLinesAreReportedAndTheOthersCounted() throws {
        let reader = try read(header + String(repeating: "x\n", count: 500) + "1,0,F,No,Sun,Dinner,2\n")
        #expect(reader.malformed.map(\.line) == Array(2...21))
        #expect(reader.malformedCount == 500)
        #expect(reader.sales.count == 1)
    }

    @Test func aTextOfMalformedLinesSaysWhatIsWrongWithThem() {
        let lines = [
            SaleReader.Malformed(line: 2, reason: "1 field instead of 7"), .init(line: 3, reason: "day is empty"),
        ]
        #expect(
            throws: SaleReader.Unreadable(description: "there is no sale in it", malformed: lines, malformedCount: 2)
        ) {
            try read(header + "x\n1,0,F,No,,Dinner,2\n")
        }
    }

    @Test(arguments: [("days", "d", ""), ("times", "", "t")])
    func atMostAYearOfDifferentDaysAndTimesIsTaken(what: String, day: String, time: String) throws {
        let lines = (1...400).map {
            "1,0,F,No,Sun\(day.isEmpty ? "" : day + String($0)),Dinner\(time.isEmpty ? "" : time + String($0)),2\n"
        }
        let reader = try read(header + lines.joined() + lines[0])
        #expect(reader.sales.count == 367, "what is known already is taken")
        #expect(reader.malformedCount == 34)
        #expect(reader.malformed.first == .init(line: 368, reason: "more than 366 different \(what)"))
    }

    @Test func largestAmountsAddUpExactly() throws {
        let line = "999999999.99,999999999.99,F,No,Sun,Dinner,1000\n"
        let reader = try read(header + String(repeating: line, count: 1_000))
        var totals = Totals()
        for sale in reader.sales { totals.add(sale) }
        #expect(totals.bills == 99_999_999_999_000)
        #expect(totals.bills.dollars == "$999,999,999,990.00")
        #expect(totals.counts == "1000 sales, 1000000 guests")
    }

    @Test func aLineThatIsNotUTF8IsReported() throws {
        let reader = try SaleReader(
            Array((header + "1,0,F,No,Sun,Dinner,2\n1,0,").utf8) + [0xFF] + Array(",No,Sun,Dinner,2\n".utf8)
        )
        #expect(reader.malformed == [.init(line: 3, reason: "it is not UTF-8")])
    }

    @Test(arguments: [
        ("", "it is empty"),
        ("\u{FEFF}\n\r\n", "it is empty"),
        ("total_bill,tip,sex,smoker,day,time,size\n", "there is no sale in it"),
        ("a,b\n1,2\n", "its header, line 1, has no column total_bill"),
        ("\n\"total_bill\n", "its header, line 2: a quotation mark is not closed, or text follows one"),
    ])
    func aTextWithoutSalesIsAClearError(text: String, reason: String) {
        #expect(throws: SaleReader.Unreadable(description: reason)) { try read(text) }
    }

    @Test(arguments: [(0, "$0.00"), (7, "$0.07"), (123_456, "$1,234.56"), (100_000_000, "$1,000,000.00")])
    func amountsAreShownInDollars(cents: Int, text: String) {
        #expect(cents.dollars == text)
    }
}

struct ArgumentsTests {
    @Test(arguments: [
        ([], Arguments.ownSales), (["-"], .standardInput), (["a.csv"], .file("a.csv")), (["--", "-a"], .file("-a")),
        (["--", "-"], .file("-")),
        (["-h"], .help), (["a.csv", "--help"], .help), (["--nats", "nats://a:1"], .overNATS("nats://a:1")),
        (["--", "--nats"], .file("--nats")),
    ])
    func argumentsMeanWhatTheHelpSays(arguments: [String], meaning: Arguments) throws {
        #expect(try Arguments.parse(arguments) == meaning)
    }

    @Test(arguments: [(["--fast"], "unknown option '--fast'"), (["a", "b"], "one file at most, but 2 were given")])
    func whatIsNotUnderstoodIsNamed(arguments: [String], description: String) {
        #expect(throws: Arguments.Misuse(description: description)) { try Arguments.parse(arguments) }
    }
}
