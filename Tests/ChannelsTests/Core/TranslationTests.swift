import Testing

@testable import Channels

struct TranslationTests {
    private let living = Tally()

    @Test func eachMessageReplacesTheOneBeforeAlsoOfAnotherType() {
        do {
            var translation = Translation()
            #expect(translation.message == nil)
            for number in 0..<3 {
                let place = translation.fill(with: Witness(living, number))
                let found = place.load(as: Witness.self).number
                #expect(found == number && living.value == 1)
            }
            let text = translation.fill(with: "\(living.value) of more than fifteen bytes").load(as: String.self)
            #expect(text == "1 of more than fifteen bytes" && living.value == 0)
            _ = translation.fill(with: Witness(living))
            translation.clear()
            #expect(living.value == 0 && translation.message == nil)
            translation.clear()
            _ = translation.fill(with: Witness(living))
        }
        #expect(living.value == 0)
    }
}
