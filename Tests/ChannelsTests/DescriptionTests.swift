import Channels
import ChannelsTesting
import Testing

/// What things look like in a log.
struct DescriptionTests {
    @Test func channelsSayTheirNameOrTypeAndHowManyListen() {
        let board = Switchboard()
        let name: ChannelName<Int> = "shop.sold"
        let channel = board.channel(name)
        let token = channel.listen { _ in }
        #expect("\(channel)" == "shop.sold: Channel<Int>, 1 listeners")
        #expect("\(Channel<String>())" == "Channel<String>, 0 listeners")
        let stateName: StateName<Bool> = "shop.open"
        #expect("\(board.state(stateName, initial: false))" == "shop.open: StateChannel<Bool>, 0 listeners")
        #expect("\(StateChannel(1))" == "StateChannel<Int>, 0 listeners")
        withExtendedLifetime(token) {}
    }

    @Test func channelsOfEveryKindSayTheirName() {
        let board = Switchboard()
        let request: RequestName<Int, String> = "shop.price"
        #expect(board.requests(request).name == "shop.price")
        let state: StateName<Bool> = "shop.open"
        #expect(board.state(state, initial: true).name == "shop.open")
        #expect(RequestChannel<Int, Int>().name == nil)
        #expect(StateChannel(1).name == nil)
    }

    @Test func namesAndPatternsAreTheirText() throws {
        let name: ChannelName<Int> = "shop.sold"
        let request: RequestName<Int, Int> = "shop.price"
        let pattern: ChannelPattern = "shop.*"
        #expect("\(name) \(request) \(request.text) \(pattern)" == "shop.sold shop.price shop.price shop.*")
        let twice = try ChannelPattern(validating: "shop.*")
        #expect(pattern == twice)
        #expect(pattern != "shop.>")
        #expect(Set<ChannelPattern>([pattern, twice, "shop.>"]).count == 2)
    }

    @Test func canonicalEquivalentsAreDifferentPatterns() throws {
        #expect(try ChannelPattern(validating: "caf\u{E9}") != ChannelPattern(validating: "cafe\u{301}"))
    }

    @Test func localTokensAreEqualIfTheyAreTheSameObject() {
        let channel = LocalChannel<Int>()
        let tokens = [channel.listen { _ in }, channel.listen { _ in }]
        #expect(tokens[0] == tokens[0])
        #expect(tokens[0] != tokens[1])
    }

    @Test func postAndWaitOfANameOfVoidWaitsForItsListeners() async {
        let board = Switchboard()
        let name: ChannelName<Void> = "shop.opened"
        let calls = Tally()
        let token = board[name].posts.listen { (_: Posted<Void>) async in calls.add() }
        #expect(await board[name].postAndWait().completed == 1)
        #expect(calls.value == 1)
        withExtendedLifetime(token) {}
    }

    @Test func anInterceptorOfALocalChannelThatThrowsIsAFaultAndTheMessageGoesOn() {
        let faults = Recorder<Fault.Code>()
        let channel = LocalChannel<Int> { faults.record($0.code) }
        let owner = Owner()
        let interceptor = channel.intercept { _ throws in throw Trouble() }
        channel.intercept(owner) { _, _ throws in throw Trouble() }
        let heard = Recorder<Int>()
        let token = channel.listen { heard.record($0) }
        channel.post(3)
        #expect(heard.all == [3])
        #expect(faults.all == [.listenerThrew, .listenerThrew])
        withExtendedLifetime((interceptor, owner, token)) {}
    }

    @Test func anInterceptorWhoseOwnerHasGoneIsNotAsked() {
        let channel = Channel<Int>()
        let heard = Recorder<Int>()
        let token = channel.listen { heard.record($0) }
        var owner: Owner? = Owner()
        channel.intercept(owner!) { _, _ in .stop }
        channel.post(1)
        owner = nil
        channel.post(2)
        #expect(heard.all == [2])
        withExtendedLifetime((owner, token)) {}
    }

    @Test func aRefusedUpdateReturnsWhatItsBodyReturnsAndChangesNothing() {
        let faults = Recorder<Fault.Code>()
        let state = StateChannel(0) { faults.record($0.code) }
        let results = Recorder<Int>()
        let token = state.listen { value in
            let result = state.update { value in
                value += 1
                return value
            }
            if result > state.value || value >= 1_023 { results.record(result) }
        }
        #expect(faults.all.contains(.recursionLimit))
        #expect(results.all.last == state.value + 1)
        withExtendedLifetime(token) {}
    }
}
