#if NATS
import Foundation
import Testing

@testable import ChannelsToolKit

/// What is JSON, and where its parts are.
@Suite(.hangLimit)
struct JSONTextTests {
    @Test(arguments: [
        "null", " true ", "false", "0", "-0", "-0.5e+10", "1E9", "12345678901234567890.0123456789", "\"\"", "[]", "{}",
        "\r\n\t[ 1 , [ ] , { } ]", #""\"\\\/\b\f\n\r\t\u00e9\uD800""#, #"{"a":{"b":[{"c":null}]},"a":1}"#,
        "\"\u{7F}\u{2028}\"",
    ])
    func jsonIsRecognised(_ text: String) {
        #expect(JSONText(Array(text.utf8)) != nil)
    }

    @Test(arguments: [
        "", " ", "nul", "truex", "True", "+1", "01", "-", "1.", ".5", "1e", "1e+", "0x1", "NaN", "\"", "\"\n\"",
        #""\x""#,
        #""\u12g4""#, #""\"#, "'a'", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{1:2}", "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{\"a\":1]", "1 2", "[]]", "\u{FEFF}1", "// a\n1", "1,", "[:1]",
        "{\"a\":1:2}",
    ])
    func otherTextIsRefused(_ text: String) {
        #expect(JSONText(Array(text.utf8)) == nil)
    }

    @Test func textThatIsNotUTF8IsRefused() {
        #expect(JSONText([0x22, 0xFF, 0x22]) == nil)
        #expect(JSONText([0x22, 0xC0, 0xAF, 0x22]) == nil)
    }

    @Test func membersAreFoundAsTheyAreWritten() throws {
        let text = #" { "a" : 1.50 , "b":{"a":[2]},"c":"}\"," ,"a" : [ 3 ] } "#
        let json = try #require(JSONText(Array(text.utf8)))
        func member(_ name: String) -> String? { json[name].map { String(decoding: $0, as: UTF8.self) } }
        #expect(member("a") == "[ 3 ]")
        #expect(member("b") == #"{"a":[2]}"#)
        #expect(member("c") == #""}\",""#)
        #expect(member("d") == nil)
        let array = try #require(JSONText(Array(#"[1, {"a":[2]} ,"x"]"#.utf8)))
        #expect(array.elements.map { String(decoding: $0, as: UTF8.self) } == ["1", #"{"a":[2]}"#, #""x""#])
        #expect(array[""] == nil)
    }

    @Test func depthDoesNotOverflowTheStack() {
        let depth = 200_000
        let deep =
            [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        #expect(JSONText(deep) != nil)
        #expect(JSONText(deep + [UInt8(ascii: "]")]) == nil)
        #expect(JSONText(Array(deep.dropLast())) == nil)
    }
}
#endif
