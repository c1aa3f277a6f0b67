#if Inspector
import Testing

@testable import Channels
@testable import ChannelsDiagnostics
@testable import ChannelsInspector

/// What pages are told of what was found.
struct PictureTests {
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
        // Read at 0, and each a millisecond after the one before.
        channel.messages = messages.map {
            MessageSnapshot(
                number: $0,
                age: .milliseconds(-$0),
                text: "\($0)",
                senderType: nil,
                origin: .local
            )
        }
        return channel
    }

    private func picture(_ readings: [Reading.Channel]...) -> Picture {
        var picture = Picture()
        for channels in readings { picture.take(Reading(time: 0, channels: channels)) }
        return picture
    }

    @Test func eachPictureHasEverythingAsItIsNow() {
        let picture = picture(
            [channel("a"), channel("b")],
            [channel("a", posts: 5), channel("b", listeners: 2), channel("c")]
        )
        #expect(Set(picture.channels.map(\.name)) == ["a", "b", "c"])
        #expect(picture.channels.first { $0.name == "a" }?.posts == 5)
        #expect(picture.channels.first { $0.name == "b" }?.listeners == 2)
        #expect(picture.channels.first { $0.name == "b" }?.owners == ["Owner"])
    }

    @Test func picturesAreCountedSoThatASlowPageKnowsHowManyItMissed() {
        var picture = Picture()
        for posts in 1...10 {
            picture.take(Reading(time: 0, channels: [channel("a", posts: posts)]))
            #expect(picture.number == posts)
        }
        #expect(picture.channels.map(\.posts) == [10])
    }

    @Test func aChannelThatIsGoneIsNotFound() {
        var picture = picture([channel("a"), channel("b")], [channel("b")])
        #expect(picture.channels.map(\.name) == ["b"])
        #expect(picture.channel("messages a") == nil)
        picture.take(Reading(time: 0, channels: [channel("a"), channel("b")]))
        #expect(picture.channel("messages a")?.name == "a")
    }

    @Test func channelsOfTwoSpellingsAreDifferent() {
        let names = ["caf\u{E9}", "cafe\u{301}"]
        var reading = Reading(time: 0, channels: names.map { channel($0, posts: $0.utf8.count) })
        reading.faults = [Entry(kind: .fault, time: 0, channel: names[0], text: "")]
        var picture = Picture()
        picture.take(reading)
        #expect(picture.channels.map(\.posts) == [5, 6] && picture.channels.map(\.faults) == [1, nil])
        for name in names { #expect(picture.channel("messages \(name)")?.posts == name.utf8.count) }
        #expect(mermaid(picture.sorted).split(separator: "\n").count { $0.contains("([") } == 2)
    }

    @Test func channelsOfOneNameAndDifferentKindsAreDifferent() {
        let picture = picture([channel("a"), channel("a", kind: "protocol")])
        #expect(picture.channels.count == 2)
        #expect(picture.channel("protocol a")?.kind == "protocol")
    }

    @Test func everyMessageIsToldOnceInTheOrderOfTimeAcrossChannels() {
        var picture = picture([channel("a", messages: 1...3), channel("b", messages: 2...4)])
        #expect(picture.after(0).entries.map(\.text) == ["1", "2", "2", "3", "3", "4"])
        #expect(picture.after(0).entries.map(\.number) == Array(1...6))
        picture.take(Reading(time: 0, channels: [channel("a", messages: 2...5), channel("b", messages: 2...4)]))
        #expect(picture.after(6).entries.map(\.text) == ["4", "5"])
        picture.take(Reading(time: 0, channels: [channel("a", messages: 2...5), channel("b", messages: 2...4)]))
        #expect(picture.after(8).entries.isEmpty)
        #expect(picture.after(6).entries.map(\.number) == [7, 8])
    }

    @Test func messagesThatAreNoLongerKeptLeaveAGap() {
        let picture = picture([channel("a", messages: 1...1)], [channel("a", messages: 2...(Picture.mostEntries + 5))])
        let entries = picture.after(1).entries
        #expect(entries.count == Picture.mostEntries)
        #expect(entries.first?.number == 6)
        #expect(entries.last?.number == picture.lastEntry)
    }

    @Test func messagesOfAChannelWhoseCountingBeganAnewAreTold() {
        let picture = picture([channel("a", messages: 8...9)], [channel("a", messages: 1...2)])
        #expect(picture.after(2).entries.map(\.text) == ["1", "2"])
    }

    @Test func sendersThatWereSeenStayKnownWhileNothingIsTraced() {
        var traced = channel("a", posts: 1)
        traced.senders = [Reading.Sender(type: "Till", site: nil, posts: 1), Reading.Sender(type: nil, posts: 2)]
        let picture = picture([traced], [channel("a", posts: 5)])
        #expect(picture.channels.map(\.senders) == [["Till"]])
        #expect(picture.channels.map(\.posts) == [5])
    }

    @Test func faultsAreCountedByNameAndToldOnce() {
        func fault(_ text: String) -> Entry { Entry(kind: .fault, time: 0, channel: "a", text: text) }
        var picture = Picture()
        let channels = [channel("a"), channel("b")]
        picture.take(Reading(time: 0, channels: channels, faults: [fault("1"), fault("2")]))
        picture.take(Reading(time: 0, channels: channels, faults: [fault("3")]))
        #expect(picture.after(2).entries.map(\.text) == ["3"])
        #expect(picture.channels.first { $0.name == "a" }?.faults == 3)
        #expect(picture.channels.first { $0.name == "b" }?.faults == nil)
    }

    @Test func faultIsToldHoweverManyMessagesThereAre() {
        var picture = Picture()
        let fault = Entry(kind: .fault, time: -1, channel: "a", text: "fault")
        let channels = (1...3).map { channel("\($0)", messages: 1...1_000) }
        picture.take(Reading(time: 0, channels: channels, faults: [fault]))
        #expect(picture.entries.count == Picture.mostEntries)
        #expect(picture.entries.first?.text == "fault")
        #expect(picture.lastEntry == 3_001)
    }

    @Test func afterAllPagesHaveClosedNothingIsKnownAndNumbersGoOn() {
        var picture = Picture()
        for last in 1...5 { picture.take(Reading(time: 0, channels: [channel("a", messages: 1...last)])) }
        picture.forget()
        #expect(picture.channel("messages a") == nil)
        picture.take(Reading(time: 0, channels: [channel("b", messages: 1...1)]))
        #expect(picture.number == 6)
        #expect(picture.channels.map(\.name) == ["b"])
        // A page that was disconnected has shown the first five.
        #expect(picture.after(0).entries.map(\.number) == [6])
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func whateverIsMissedAPageIsToldEveryMessageOnce(seed: UInt64) {
        var state = seed
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var picture = Picture()
        var posted = 0
        var told: [String] = []
        var last = 0
        for _ in 1...400 {
            let first = posted + 1
            posted += 1 + random(4)
            picture.take(Reading(time: 0, channels: [channel("a", messages: max(1, first - random(8))...posted)]))
            guard random(3) == 0 else { continue }
            told += picture.after(last).entries.map(\.text)
            last = picture.lastEntry
            #expect(told == (1...posted).map { "\($0)" })
        }
    }
}
#endif
