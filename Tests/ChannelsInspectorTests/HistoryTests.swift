#if Inspector
import Testing

@testable import ChannelsInspector

/// What a page is told, depending on what it has.
struct HistoryTests {
    private func channel(_ name: String, posts: Int = 0, listeners: Int = 1, kind: String = "messages")
        -> Reading.Channel
    {
        let listener = Reading.Listener(
            owner: "Owner",
            delivery: "direct",
            priority: 0,
            isPaused: false,
            site: "A/B.swift:1"
        )
        return Reading.Channel(
            name: name,
            kind: kind,
            type: "Int",
            posts: posts,
            listeners: Array(repeating: listener, count: listeners)
        )
    }

    private func channel(_ name: String, messages: ClosedRange<Int>) -> Reading.Channel {
        var channel = channel(name, posts: messages.upperBound)
        channel.messages = messages.map { Reading.Message(number: $0, time: Double($0), text: "\($0)") }
        return channel
    }

    @Test func aNewPageGetsEverything() {
        var history = History()
        history.take(Reading(channels: [channel("a"), channel("b")]), at: 1)
        let changes = history.changes(since: 0)
        #expect(changes.version == 1)
        #expect(changes.since == 0)
        #expect(changes.missed == 0)
        #expect(Set(changes.channels.map(\.name)) == ["a", "b"])
        #expect(changes.numbers.count == 2)
    }

    @Test func aPageInTimeGetsOnlyWhatHasChanged() {
        var history = History()
        history.take(Reading(channels: [channel("a"), channel("b"), channel("c")]), at: 1)
        history.take(Reading(channels: [channel("a", posts: 5), channel("b", listeners: 2), channel("c")]), at: 2)
        let changes = history.changes(since: 1)
        #expect(changes.since == 1)
        #expect(changes.channels.map(\.name) == ["b"])
        #expect(changes.numbers.count == 2)
        #expect(changes.numbers.contains { $0.1.posts == 5 })
    }

    @Test func aSlowPageGetsOnePictureAndHearsHowManyItMissed() {
        var history = History()
        for posts in 1...10 { history.take(Reading(channels: [channel("a", posts: posts)]), at: Double(posts)) }
        let changes = history.changes(since: 3)
        #expect(changes.missed == 6)
        #expect(changes.numbers.count == 1)
        #expect(changes.numbers.first?.1.posts == 10)
        #expect(changes.channels.isEmpty)
    }

    @Test func aPageAwayForTooLongGetsEverythingAndItsMisses() {
        var history = History()
        for time in 1...(History.mostMarks + 10) { history.take(Reading(channels: [channel("a")]), at: Double(time)) }
        let changes = history.changes(since: 2)
        #expect(changes.since == 0)
        #expect(changes.channels.count == 1)
        #expect(changes.missed == History.mostMarks + 7)
    }

    @Test func aChannelThatIsGoneIsReportedAndItsNumberNotReused() throws {
        var history = History()
        history.take(Reading(channels: [channel("a"), channel("b")]), at: 1)
        let id = try #require(history.changes(since: 0).channels.first { $0.name == "a" }?.id)
        history.take(Reading(channels: [channel("b")]), at: 2)
        #expect(history.changes(since: 1).gone == [id])
        #expect(history.channel(id) == nil)
        history.take(Reading(channels: [channel("a"), channel("b")]), at: 3)
        let again = try #require(history.changes(since: 2).channels.first)
        #expect(again.name == "a")
        #expect(again.id != id)
        // A page that had missed all of that.
        let changes = history.changes(since: 1)
        #expect(changes.gone == [id])
        #expect(changes.channels.map(\.id) == [again.id])
    }

    @Test func moreGoneChannelsThanAreRememberedCostAPageTheWholePicture() {
        var history = History()
        history.take(Reading(channels: (0...History.mostGone).map { channel("a\($0)") }), at: 1)
        history.take(Reading(channels: [channel("b")]), at: 2)
        history.take(Reading(channels: [channel("b")]), at: 3)
        #expect(history.changes(since: 1).since == 0)
        #expect(history.changes(since: 2).since == 2)
    }

    @Test func channelsOfOneNameAndDifferentKindsAreDifferent() {
        var history = History()
        history.take(Reading(channels: [channel("a"), channel("a", kind: "protocol")]), at: 1)
        #expect(history.changes(since: 0).channels.count == 2)
    }

    @Test func everyMessageIsToldOnceInTheOrderOfTimeAcrossChannels() {
        var history = History()
        history.take(Reading(channels: [channel("a", messages: 1...3), channel("b", messages: 2...4)]), at: 1)
        #expect(history.changes(since: 0).messages.map(\.text) == ["1", "2", "2", "3", "3", "4"])
        #expect(history.changes(since: 0).messages.map(\.number) == Array(1...6))
        history.take(Reading(channels: [channel("a", messages: 2...5), channel("b", messages: 2...4)]), at: 2)
        #expect(history.changes(since: 1).messages.map(\.text) == ["4", "5"])
        history.take(Reading(channels: [channel("a", messages: 2...5), channel("b", messages: 2...4)]), at: 3)
        #expect(history.changes(since: 2).messages.isEmpty)
        #expect(history.changes(since: 1).messages.count == 2)
        #expect(history.changes(since: 1).missedMessages == 0)
    }

    @Test func messagesThatAreNoLongerKeptAreCounted() {
        var history = History()
        history.take(Reading(channels: [channel("a", messages: 1...1)]), at: 1)
        history.take(Reading(channels: [channel("a", messages: 2...(History.mostMessages + 5))]), at: 2)
        let changes = history.changes(since: 1)
        #expect(changes.messages.count == History.mostMessages)
        #expect(changes.missedMessages == 4)
    }

    @Test func messagesOfAChannelWhoseCountingBeganAnewAreTold() {
        var history = History()
        history.take(Reading(channels: [channel("a", messages: 8...9)]), at: 1)
        history.take(Reading(channels: [channel("a", messages: 1...2)]), at: 2)
        #expect(history.changes(since: 1).messages.map(\.text) == ["1", "2"])
    }

    @Test func sendersThatWereSeenStayKnownWhileNothingIsTraced() {
        var history = History()
        var traced = channel("a", posts: 1)
        traced.senders = [Reading.Sender(type: "Till", site: nil, posts: 1), Reading.Sender(type: nil, posts: 2)]
        history.take(Reading(channels: [traced]), at: 1)
        #expect(history.changes(since: 0).channels.first?.senders == ["Till"])
        history.take(Reading(channels: [channel("a", posts: 5)]), at: 2)
        #expect(history.changes(since: 1).channels.isEmpty)
        #expect(history.changes(since: 0).channels.first?.senders == ["Till"])
    }

    @Test func faultsAreCountedByNameAndToldOnce() {
        func fault(_ number: Int) -> Reading.Fault { Reading.Fault(number: number, time: 0, channel: "a", text: "") }
        var history = History()
        history.take(Reading(channels: [channel("a"), channel("b")], faults: [fault(1), fault(2)]), at: 1)
        history.take(Reading(channels: [channel("a"), channel("b")], faults: [fault(2), fault(3)]), at: 2)
        let changes = history.changes(since: 1)
        #expect(changes.faults.map(\.number) == [3])
        #expect(changes.numbers.map(\.1.faults) == [3])
    }

    @Test func afterAllPagesHaveClosedNothingIsKnownAndVersionsGoOn() {
        var history = History()
        for time in 1...5 { history.take(Reading(channels: [channel("a", messages: 1...time)]), at: Double(time)) }
        history = History(after: history)
        history.take(Reading(channels: [channel("b", messages: 1...1)]), at: 6)
        let changes = history.changes(since: 5)
        #expect(changes.version == 6)
        #expect(changes.since == 0)
        #expect(changes.channels.map(\.name) == ["b"])
        // A page that was disconnected has shown the first five.
        #expect(changes.messages.map(\.number) == [6])
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func whateverIsMissedAPageEndsWithWhatIsThere(seed: UInt64) {
        var state = seed
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var history = History()
        var known: [Int: (name: String, posts: Int)] = [:]
        var version = 0
        for time in 1...400 {
            let channels = (0..<12).filter { _ in random(4) > 0 }.map { channel("c\($0)", posts: random(5)) }
            history.take(Reading(channels: channels), at: Double(time))
            guard random(3) == 0 else { continue }
            let changes = history.changes(since: version)
            if changes.since == 0 { known = [:] }
            for id in changes.gone { known[id] = nil }
            for channel in changes.channels { known[channel.id] = (channel.name, known[channel.id]?.posts ?? -1) }
            for (id, numbers) in changes.numbers { known[id]?.posts = numbers.posts }
            version = changes.version
            #expect(known.count == channels.count)
            for channel in channels {
                #expect(known.values.contains { $0.name == channel.name && $0.posts == channel.posts })
            }
        }
    }
}
#endif
