import Channels
import ChannelsDiagnostics
import Testing

/// Rule 13: which texts are names, and when two are the same.
struct NameTests {
    static let hostile = [
        "", ".", "..", "a.", ".a", "a..b", " ", "a b", "a\tb", "a\nb", "a\r\nb", "\r\n", "a\u{0}b", "\u{0}", "a\u{7}",
        "a\u{1B}[31m", "\u{7F}",
        "a\u{80}", "a\u{85}b", "a\u{9F}", "a\u{A0}b", "a\u{1680}", "a\u{2003}b", "a\u{2028}b", "a\u{2029}",
        "a\u{202F}b", "a\u{205F}", "\u{3000}",
        "*", ">", "a.*", "a.>", "a*", "*.b", "a>b", "é*", "é. .b", "x 0\r\n\r\nPUB admin", "é..b", "é.",
        String(repeating: "a", count: 1_025),
        String(repeating: "é", count: 513), String(repeating: "a.", count: 513),
    ]

    @Test(arguments: hostile)
    func aHostileNameThrowsInvalidName(text: String) throws {
        let error = #expect(throws: ChannelError.self) { try ChannelName<Int>(validating: text) }
        #expect(error?.code == .invalidName)
        #expect(error?.name == text)
        let shown = try #require(error?.description)
        #expect(!shown.isEmpty && shown.utf8.count < 1_200)
        #expect(
            !shown.unicodeScalars.contains { $0.properties.generalCategory == .control },
            "control characters end up in logs"
        )
        let board = Switchboard()
        #expect(throws: ChannelError.self) { try board.channel(text, of: Int.self) }
        #expect(throws: ChannelError.self) { try board.state(text, of: Int.self, initial: 0) }
        #expect(throws: ChannelError.self) { try board.requests(text, of: Int.self, returning: Int.self) }
        #expect(!board.removeChannel(named: text))
        #expect(board.snapshot().channels.isEmpty)
    }

    @Test(arguments: [
        "a", "a.b", "shop.checkout", "é", "名前.値", "a-b_c:d/e", "👩‍👩‍👧", "a\u{200B}b", "\u{FEFF}", "0", "%00",
        "';DROP-TABLE", "a\u{301}", "$SYS", "-",
        String(repeating: "a", count: 1_024), String(repeating: "é", count: 512),
    ])
    func anyOtherTextIsAName(text: String) throws {
        let board = Switchboard()
        let channel = try board.channel(text, of: Int.self)
        #expect(channel.name == text)
        #expect(try board.channel(text, of: Int.self) === channel)
        #expect(board.snapshot().channels.map(\.name) == [text])
    }

    /// Names are read eight bytes at a time: each character of ASCII at each place of names of up to 18
    /// bytes, and pairs of full stops.
    @Test func aCharacterIsAllowedOrNotWhereverInANameItStands() {
        func isName(_ characters: [UInt8]) -> Bool {
            let tokens = characters.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            return tokens.allSatisfy { token in
                !token.isEmpty
                    && token.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: ">") }
            }
        }
        for length in 1...18 {
            for place in 0..<length {
                var characters = [UInt8](repeating: UInt8(ascii: "n"), count: length)
                for character in UInt8(0)..<0x80 {
                    characters[place] = character
                    let name = try? ChannelName<Int>(validating: String(decoding: characters, as: UTF8.self))
                    #expect((name != nil) == isName(characters), "\(character) at \(place) of \(length)")
                }
                characters[place] = UInt8(ascii: ".")
                for other in 0..<length {
                    var pair = characters
                    pair[other] = UInt8(ascii: ".")
                    let name = try? ChannelName<Int>(validating: String(decoding: pair, as: UTF8.self))
                    #expect((name != nil) == isName(pair), "full stops at \(place) and \(other) of \(length)")
                }
            }
        }
    }

    /// Beside a character of two bytes, which has a value in names, one that is not allowed is found as elsewhere.
    @Test(arguments: [" ", "\u{1}", "\u{7F}", "*", ">"])
    func whatIsNotAllowedIsFoundBesideOtherScripts(wrong: String) {
        for length in 2...20 {
            for place in 0..<length {
                for other in ["\u{E9}", "\u{FF}", "\u{3B1}"] {
                    var parts = [String](repeating: "n", count: length)
                    parts[place] = other
                    #expect((try? ChannelName<Int>(validating: parts.joined())) != nil)
                    parts[place] = other + wrong
                    #expect((try? ChannelName<Int>(validating: parts.joined())) == nil, "\(parts.joined())")
                    parts[place] = wrong + other
                    #expect((try? ChannelName<Int>(validating: parts.joined())) == nil, "\(parts.joined())")
                }
            }
        }
    }

    @Test func namesThatDifferInOneByteAreDifferentNames() throws {
        let board = Switchboard()
        var channels: [Channel<Int>] = []
        for length in 1...24 {
            for place in 0..<length {
                var characters = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                characters[place] = UInt8(ascii: "b")
                channels.append(try board.channel(String(decoding: characters, as: UTF8.self), of: Int.self))
            }
        }
        #expect(Set(channels.map(ObjectIdentifier.init)).count == channels.count)
        #expect(board.snapshot().channels.count == channels.count)
    }

    /// Names of a family have everything but one part in common, wherever it stands; those of one hash are
    /// looked for one by one.
    @Test(arguments: [0, 5, 8, 13, 16, 21, 24, 29])
    func namesThatDifferInOnePartHaveDifferentHashes(place: Int) throws {
        let names = try (0..<1_000).map { number in
            var text = String(repeating: "n", count: 32)
            let start = text.index(text.startIndex, offsetBy: place)
            text.replaceSubrange(start..<text.index(start, offsetBy: 3), with: String(1_000 + number).dropFirst())
            return try ChannelName<Int>(validating: text)
        }
        #expect(Set(names.map(\.hashValue)).count == names.count)
    }

    /// Compares with a dictionary while names come and go.
    @Test(arguments: Seed.first(4))
    func aNameIsFoundOnlyWhileItsChannelIsHeld(seed: Seed) throws {
        var random = SeededGenerator(seed: seed.number)
        let board = Switchboard()
        var held: [String: Channel<Int>] = [:]
        for _ in 0..<4_000 {
            let text = "name.\(Int.random(in: 0..<600, using: &random))"
            if Int.random(in: 0..<5, using: &random) == 0 {
                held[text] = nil
            } else {
                let found = try board.channel(text, of: Int.self)
                #expect(held[text] == nil || held[text] === found)
                held[text] = found
            }
        }
        #expect(Set(board.snapshot().channels.map(\.name)) == Set(held.keys))
        held = [:]
        #expect(board.snapshot().channels.isEmpty)
    }

    @Test func canonicalEquivalentsAreDifferentNames() throws {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        #expect(composed == decomposed, "as strings they are equal")
        #expect(try ChannelName<Int>(validating: composed) != ChannelName<Int>(validating: decomposed))
        #expect(try Set([ChannelName<Int>(validating: composed), .init(validating: decomposed)]).count == 2)
        let board = Switchboard()
        let first = try board.channel(composed, of: Int.self)
        let second = try board.channel(decomposed, of: String.self)
        #expect(first.name?.unicodeScalars.count == 4)
        #expect(second.name?.unicodeScalars.count == 5)
        let patterns = try [composed, decomposed].map { try ChannelPattern(validating: $0) }
        #expect(patterns[0] != patterns[1] && !patterns[0].matches(decomposed))
        withExtendedLifetime((first, second)) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func aLiteralThatIsNotAValidNameOrPatternTraps() async {
        await #expect(processExitsWith: .failure) { let _: ChannelName<Int> = "a b" }
        await #expect(processExitsWith: .failure) { let _: ChannelName<Int> = "shop.*" }
        await #expect(processExitsWith: .failure) { let _: RequestName<Int, Int> = "" }
        await #expect(processExitsWith: .failure) { let _: ChannelPattern = "a.>.b" }
    }
    #endif

    @Test(arguments: [
        "", "a*", "*a", "a.>b", ">.a", "a.>.b", "**", ">>", "a..*", "*.", "a *", "é.>.b", "é*", "a.\u{2028}",
    ])
    func aPatternWhoseWildcardsAreNotWholeTokensThrows(text: String) {
        let error = #expect(throws: ChannelError.self) { try ChannelPattern(validating: text) }
        #expect(error?.code == .invalidName)
    }

    @Test(arguments: [
        ("a.*", "a.b", true), ("a.*", "a", false), ("a.*", "a.b.c", false), ("a.>", "a.b", true),
        ("a.>", "a.b.c", true), ("a.>", "a", false),
        (">", "a", true), (">", "a.b", true), ("*", "a", true), ("*", "a.b", false), ("*.*", "a.b", true),
        ("*.b.>", "a.b.c.d", true),
        ("*.b.>", "a.c.c", false), ("a.b", "a.b", true), ("a.b", "a.c", false), ("a.*.c", "a.b.c", true),
        ("a.*.c", "a.b.d", false),
        ("é.*", "é.ü", true),
    ])
    func aStarIsOneTokenAGreaterThanOneOrMore(pattern: String, name: String, matches: Bool) throws {
        #expect(try ChannelPattern(validating: pattern).matches(name) == matches)
    }

    /// Compares with a recursive definition.
    @Test(arguments: Seed.first(10))
    func patternsMatchAsARecursiveModelSays(seed: Seed) throws {
        func matches(_ pattern: [String], _ name: [String]) -> Bool {
            guard let first = pattern.first else { return name.isEmpty }
            guard let token = name.first else { return false }
            if first == ">" { return true }
            return (first == "*" || first == token) && matches(Array(pattern.dropFirst()), Array(name.dropFirst()))
        }
        var random = SeededGenerator(seed: seed.number)
        for _ in 0..<200 {
            var pattern = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                ["a", "b", "*"].randomElement(using: &random)!
            }
            if Bool.random(using: &random) { pattern.append(">") }
            let name = (0..<Int.random(in: 1...5, using: &random)).map { _ in ["a", "b"].randomElement(using: &random)!
            }
            let parsed = try ChannelPattern(validating: pattern.joined(separator: "."))
            #expect(parsed.matches(name.joined(separator: ".")) == matches(pattern, name), "\(pattern) \(name)")
        }
    }
}
