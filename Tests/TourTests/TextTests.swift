import Testing

@testable import tour

struct TextTests {
    @Test(arguments: [
        ("\u{1B}[31mSun\u{1B}]0;title\u{7}", "\\u{1B}[31mSun\\u{1B}]0;title\\u{7}"),
        ("Sun\r\nSat\t\0", "Sun\\u{D}\\u{A}Sat\\u{9}\\u{0}"),
        ("\u{9B}31m\u{7F}", "\\u{9B}31m\\u{7F}"),
        ("\u{202E}nuS\u{2028}\u{2029}\u{FEFF}", "\\u{202E}nuS\\u{2028}\\u{2029}\\u{FEFF}"),
    ])
    func whatWouldMoveTheCursorIsShownEscaped(text: String, shown: String) {
        #expect(text.printable == shown)
    }

    @Test(arguments: ["", "Sun", "Søndag, 日曜日 😀", "e\u{301}", "it's \"50%\" \\ done"])
    func whatIsHarmlessIsShownAsItIs(text: String) {
        #expect(text.printable == text)
    }

    @Test(arguments: [(0, "0 sales"), (1, "1 sale"), (2, "2 sales")])
    func oneIsSingular(number: Int, text: String) {
        #expect(number.of("sale", "sales") == text)
    }

    @Test func valuesOfAFieldAreGivenOnceInOrderOfAppearance() {
        let sales = ["Sun", "Sat", "Sun", "Fri", "Sat"].map { Sale(bill: 1, tip: 0, day: $0, time: "Lunch", guests: 2) }
        #expect(sales.distinct(\.day) == ["Sun", "Sat", "Fri"])
        #expect(sales.distinct(\.time) == ["Lunch"])
    }
}
