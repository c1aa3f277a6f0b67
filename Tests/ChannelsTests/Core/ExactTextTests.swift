import Testing

@testable import Channels

struct ExactTextTests {
    @Test func canonicalEquivalentsAreTwoKeys() {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(composed == decomposed)
        #expect(ExactText(composed) != ExactText(decomposed))
        #expect([ExactText(composed): 1, ExactText(decomposed): 2].count == 2)
    }

    @Test func oneTextInAnotherBufferIsTheSameKey() {
        let text = String(repeating: "shop.", count: 10) + "café"
        let copy = String(decoding: Array(text.utf8), as: UTF8.self)
        #expect(ExactText(text) == ExactText(copy))
        #expect(ExactText(text).hashValue == ExactText(copy).hashValue)
        #expect(ExactText("") == ExactText(""))
        #expect(ExactText("") != ExactText("a"))
    }
}
