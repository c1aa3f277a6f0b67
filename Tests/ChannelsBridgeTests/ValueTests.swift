import Channels
import ChannelsTesting
import Testing

@testable import ChannelsBridge

@Suite(.hangLimit)
struct ValueTests {
    /// As bytes: a semicolon and a combining mark behind it are one character.
    @Test func aMediaTypeEndsAtItsSemicolonWhateverFollows() {
        for text in ["Application/JSON;\u{301}", "\tapplication/json ; charset=utf-8", "application/json;"] {
            #expect(MediaType(text) == MediaType("application/json"), "\(text)")
        }
    }

    @Test func waitsGrowUpToTheirLimit() {
        let backoff = Backoff(first: .seconds(1), limit: .seconds(5))
        #expect((1...5).map { backoff.delay(before: $0) } == [1, 2, 4, 5, 5].map { .seconds($0) })
        #expect(backoff.delay(before: .max) == .seconds(5))
        #expect(Backoff(first: .zero, limit: .zero).delay(before: 1_000) == .zero)
        #expect(Backoff(first: .seconds(2), limit: .seconds(2)).delay(before: .max) == .seconds(2))
    }

    @Test func theLastMessagesAreRememberedAndNoMoreThanTwiceAsMany() {
        var recent = RecentMessages<Int>(limit: 3)
        for number in 0..<20 {
            recent[MessageKey("\(number)")] = number
            // Set again: it is one of the last, and no other one goes because of it.
            recent[MessageKey("\(number)")] = number + 1
            let known = (0..<20).filter { recent[MessageKey("\($0)")] == $0 + 1 }
            #expect(known.count <= 6 && known.suffix(3) == Array((0...number).suffix(3)))
        }
        recent[MessageKey("18")] = nil
        recent[MessageKey("19")] = nil
        #expect(recent[MessageKey("18")] == nil && recent[MessageKey("19")] == nil && recent[MessageKey("17")] == 18)
    }

    @Test func windowKnowsAMessageFromItsLowestNumberOn() {
        let (hash, other) = (MessageKey("a"), MessageKey("b"))
        var window = RecentMessages<UInt64>(limit: 2)
        window.add(hash, number: 5)
        #expect(!window.contains(other, number: 9))
        #expect(
            window.contains(hash, number: 5) && window.contains(hash, number: 6) && !window.contains(hash, number: 4)
        )
        #expect(window.contains(hash, number: nil))
        window.add(hash, number: 7)
        #expect(!window.contains(hash, number: 4))
        window.add(hash, number: 3)
        #expect(window.contains(hash, number: 4))
        window.add(other, number: nil)
        #expect(window.contains(other, number: 0))
    }

    @Test func headersIgnoreCaseAndKeepTheirOrder() throws {
        var headers: TransportHeaders = ["Ce-Id": "1", "x": "2"]
        #expect(headers["ce-id"] == "1" && headers["CE-ID"] == "1" && headers["ce_id"] == nil)
        try headers.set("3", for: "CE-ID")
        #expect(headers.map { "\($0.name)=\($0.value)" } == ["Ce-Id=3", "x=2"])
        headers.remove("X")
        #expect(headers.count == 1)
    }

    @Test func errorsNameEverythingInvolvedInOneLine() {
        let error = BridgeError(.undecodable, subject: "shop\r\n.sold", detail: "as Sale", underlyingError: Trouble())
        #expect(error.description == #"undecodable on 'shop\r\n.sold', as Sale: trouble"#)
    }

    @Test func aLocalValueOnItsWayHoldsBackValuesOfOthers() {
        var sync = StateSync<String, String>()
        _ = sync.setHere("mine")
        guard case .store("mine")? = sync.next() else { return #expect(Bool(false), "nothing to store") }
        _ = sync.arrived("older", revision: 1)
        #expect(sync.next() == nil)
        sync.stored(2)
        #expect(sync.next() == nil && sync.isSettled)
        _ = sync.arrived("newer", revision: 3)
        guard case .apply("newer")? = sync.next() else { return #expect(Bool(false), "nothing to apply") }
        #expect(sync.arrived("again", revision: 3) == "again")
    }

    @Test func aNewerValueOfOthersIsAppliedAfterOurs() {
        var sync = StateSync<String, String>()
        _ = sync.setHere("mine")
        _ = sync.next()
        _ = sync.arrived("theirs", revision: 5)
        sync.stored(4)
        guard case .apply("theirs")? = sync.next() else { return #expect(Bool(false), "nothing to apply") }
    }

    @Test func aValueThatCouldNotBeStoredIsStoredAgainUnlessReplaced() {
        var sync = StateSync<String, String>()
        _ = sync.setHere("first")
        _ = sync.next()
        #expect(sync.postponed("first") == nil && !sync.isSettled)
        guard case .store("first")? = sync.next() else { return #expect(Bool(false), "not stored again") }
        _ = sync.setHere("second")
        #expect(sync.postponed("first") == "first")
        guard case .store("second")? = sync.next() else { return #expect(Bool(false), "not replaced") }
        sync.replaced()
        #expect(sync.isSettled && sync.next() == nil)
    }

    @Test func aRefusedValueIsStoredOnTheNextConnectionUnlessReplaced() {
        var sync = StateSync<String, String>()
        _ = sync.setHere("first")
        _ = sync.next()
        #expect(sync.refused("first") == nil && sync.isSettled && sync.next() == nil)
        sync.connectionIsBack()
        guard case .store("first")? = sync.next() else { return #expect(Bool(false), "not stored again") }
        _ = sync.setHere("second")
        #expect(sync.refused("first") == "first" && !sync.isSettled)
        guard case .store("second")? = sync.next() else { return #expect(Bool(false), "held back as well") }
        #expect(sync.refused("second") == nil)
        #expect(sync.setHere("third") == "second")
        guard case .store("third")? = sync.next() else { return #expect(Bool(false), "held back as well") }
        // What others have stored replaces it.
        #expect(sync.refused("third") == nil)
        sync.isListening = true
        _ = sync.arrived("theirs", revision: 1)
        guard case .apply("theirs")? = sync.next() else { return #expect(Bool(false), "nothing to apply") }
        #expect(sync.heardRemote() == "third")
        sync.connectionIsBack()
        #expect(sync.next() == nil)
        #expect(sync.storeAgain("fourth") == nil)
        _ = sync.next()
        #expect(sync.refused("fourth") == nil && sync.storeAgain("fifth") == "fourth" && !sync.isSettled)
    }

    @Test func whatTheBrokerLostIsStoredAgainUnlessANewerValueWaits() {
        var sync = StateSync<String, String>()
        #expect(sync.storeAgain("current") == nil && !sync.isSettled)
        #expect(sync.storeAgain("current, again") == "current, again")
        guard case .store("current")? = sync.next() else { return #expect(Bool(false), "not stored again") }
        #expect(sync.setHere("newer") == nil && sync.setHere("newest") == "newer")
        #expect(sync.storeAgain("older") == "older")
        sync.stored(1)
        guard case .store("newest")? = sync.next() else { return #expect(Bool(false), "the newest is not stored") }
    }

    /// It comes back before the broker's acknowledgement does.
    @Test func valueOfThisProcessThatComesBackIsNotSetAgain() {
        var sync = StateSync<String, String>()
        _ = sync.setHere("mine")
        _ = sync.next()
        #expect(sync.arrived("mine, from the broker", revision: 5) == nil)
        #expect(sync.arrived("older", revision: 4) == "older")
        sync.stored(5)
        #expect(sync.next() == nil && sync.isSettled)
        #expect(sync.arrived("mine, once more", revision: 5) == "mine, once more")
        #expect(sync.arrived("theirs", revision: 6) == nil)
        #expect(sync.arrived("theirs, later", revision: 7) == "theirs")
        guard case .apply("theirs, later")? = sync.next() else { return #expect(Bool(false), "nothing to apply") }
        #expect(sync.next() == nil)
    }

    /// The revision of a value that was stored late does not go back behind those that came in.
    @Test func revisionsDoNotGoBack() {
        var sync = StateSync<String, String>()
        _ = sync.arrived("theirs", revision: 9)
        _ = sync.next()
        _ = sync.setHere("mine")
        guard case .store("mine")? = sync.next() else { return #expect(Bool(false), "nothing to store") }
        sync.stored(8)
        #expect(sync.arrived("theirs, again", revision: 9) == "theirs, again")
    }

    /// A listener may hear a value that was set before the one being applied after that has begun.
    @Test func whatIsHeardBeforeTheValueBeingAppliedWaitsForIt() {
        var sync = StateSync<String, String>()
        sync.isListening = true
        _ = sync.arrived("theirs", revision: 1)
        guard case .apply("theirs")? = sync.next() else { return #expect(Bool(false), "nothing to apply") }
        // Another state has the name now.
        sync.isListening = true
        sync.applying()
        _ = sync.setHere("before")
        #expect(sync.next() == nil)
        #expect(sync.heardRemote() == "before")
        #expect(sync.next() == nil && sync.isSettled)
        _ = sync.setHere("after")
        guard case .store("after")? = sync.next() else { return #expect(Bool(false), "nothing to store") }
    }

    @Test(arguments: [true, false]) func whatWaitsForAValueThatCannotBeAppliedIsStored(ends: Bool) {
        var sync = StateSync<String, String>()
        sync.isListening = true
        _ = sync.arrived("theirs", revision: 1)
        _ = sync.next()
        sync.applying()
        _ = sync.setHere("mine")
        #expect(sync.next() == nil)
        if ends { sync.isListening = false } else { sync.notApplied() }
        guard case .store("mine")? = sync.next() else { return #expect(Bool(false), "nothing to store") }
    }

    @Test func aValueReplacedHereByOneOfOthersIsNotStored() {
        var sync = StateSync<String, String>()
        _ = sync.setHere("mine")
        #expect(sync.heardRemote() == "mine")
        #expect(sync.next() == nil && sync.isSettled)
    }
}
