import Channels
import Testing

struct ErrorFormTests {
    let board = Switchboard(onFault: { _ in })

    private func errorOf(_ body: () throws -> Void) -> ChannelError? {
        do {
            try body()
            return nil
        } catch {
            return error as? ChannelError
        }
    }

    @Test func typeMismatchNamesBothTypesAndTheName() throws {
        let held = try board.channel("shop.checkout", of: Int.self)
        let error = try #require(errorOf { _ = try board.channel("shop.checkout", of: [String].self) })
        #expect(error.code == .typeMismatch)
        #expect(error.name == "shop.checkout")
        for text in ["Int", "Array<String>", "shop.checkout"] { #expect("\(error)".contains(text), "\(error)") }
        withExtendedLifetime(held) {}
    }

    @Test func kindMismatchIsATypeMismatch() throws {
        _ = board.state("shop.sales", initial: 1)
        let messages = try #require(errorOf { _ = try board.channel("shop.sales", of: Int.self) })
        #expect(messages.code == .typeMismatch)
        #expect(messages.description.contains("state"), "\(messages)")
        let requests = try #require(errorOf { _ = try board.requests("shop.sales", of: Int.self, returning: Int.self) })
        #expect(requests.code == .typeMismatch)
        let state = try #require(errorOf { _ = try board.state("shop.sales", of: String.self, initial: "") })
        #expect(state.code == .typeMismatch)
        for text in ["Int", "String"] { #expect(state.description.contains(text), "\(state)") }
    }

    @Test(arguments: [
        "", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\u{0}", "a.*", ">", "a*", "é\u{2003}",
        String(repeating: "x", count: 1_025),
    ])
    func invalidNamesThrow(_ text: String) throws {
        for error in [
            errorOf { _ = try board.channel(text, of: Int.self) },
            errorOf { _ = try ChannelName<Int>(validating: text) },
            errorOf { _ = try RequestName<Int, Int>(validating: text) },
            errorOf { _ = try board.state(text, of: Int.self, initial: 0) },
        ] {
            #expect(error?.code == .invalidName)
            #expect(error?.name == text)
        }
    }

    @Test(arguments: ["", "a.", "a*", "a.>.b", ">.a", "**", "a b", "a.*b"])
    func invalidPatternsThrow(_ text: String) throws {
        #expect(errorOf { _ = try ChannelPattern(validating: text) }?.code == .invalidName)
    }

    @Test func noResponderNamesTheChannel() async {
        let error = await #expect(throws: ChannelError.self) {
            try await board.requests(RequestName<Int, String>("shop.price")).ask(1)
        }
        #expect(error?.code == .noResponder)
        for text in ["shop.price", "Int", "String"] { #expect(error?.description.contains(text) == true) }
    }

    @Test func codesCompareAndPrint() {
        #expect(ChannelError.Code.typeMismatch != .invalidName)
        #expect("\(ChannelError.Code.noResponder)" == "noResponder")
        #expect("\(Fault.Code.listenerThrew)" == "listenerThrew")
    }

    @Test func faultsNameCodeChannelSiteCountAndError() {
        let faults = FormLog<Fault>()
        let board = Switchboard(onFault: { faults.add($0) })
        let owner = FormListener()
        let line = #line + 1
        board.listen(owner, to: "shop.x") { (me, number: Int) in try me.hearOrThrow("\(number)") }
        board.post(1, to: "shop.x")
        board.post(2, to: "shop.x")
        #expect(faults.all.map(\.code) == [.listenerThrew, .listenerThrew])
        #expect(faults.all.map(\.count) == [1, 2])
        #expect(faults.all.allSatisfy { $0.channelName == "shop.x" })
        #expect(faults.all.first?.registrationSite == RegistrationSite(fileID: #fileID, line: line))
        #expect((faults.all.last?.underlyingError as? FormError)?.text == "2")
        withExtendedLifetime(owner) {}
    }

    // MARK: Traps

    @Test func typedConflictTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let board = Switchboard()
            let held = board.channel(ChannelName<Int>("shop.x"))
            _ = board.channel(ChannelName<String>("shop.x"))
            withExtendedLifetime(held) {}
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        for word in ["Int", "String", "shop.x"] { #expect(text.contains(word), "\(text)") }
    }

    @Test func invalidLiteralTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ChannelName<Int>("shop x")
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("'shop x' is not a valid channel name"), "\(text)")
        await #expect(processExitsWith: .failure) { _ = ChannelPattern("a.>.b") }
    }

    @Test func invalidLimitsTrap() async {
        await #expect(processExitsWith: .failure) { _ = BufferingPolicy.newest(0) }
        await #expect(processExitsWith: .failure) { _ = BufferingPolicy.oldest(-1) }
        await #expect(processExitsWith: .failure) { _ = Reentrancy.nested(limit: 0) }
        await #expect(processExitsWith: .failure) { _ = StateChannel(1).values(buffering: .oldest(1)) }
    }

    // MARK: What tests of a user's own code make

    @Test func faultsCanBeMadeForTestsOfHandlers() {
        let site = RegistrationSite(fileID: "App/Till.swift", line: 7)
        let fault = Fault(
            code: .listenerThrew,
            channelName: "shop.sold",
            registrationSite: site,
            count: 2,
            underlyingError: FormError(text: "no")
        )
        #expect(fault.code == .listenerThrew)
        #expect("\(fault)".contains("listenerThrew on channel shop.sold, listener registered at App/Till.swift:7: "))
        #expect("\(fault)".hasSuffix("(2 times so far)"))
        #expect(
            "\(Fault(code: .recursionLimit, channelName: "a", detail: "limit 64"))"
                == "recursionLimit on channel a, limit 64"
        )
    }

    @Test func errorsCanBeMadeForStandIns() {
        let error = ChannelError(code: .noResponder, name: "shop.price", description: "nobody responds")
        #expect(error.code == .noResponder)
        #expect(error.name == "shop.price")
        #expect("\(error)" == "nobody responds")
    }

    @Test func reportsCanBeMadeAndReadAsALine() {
        let failure = DeliveryFailure(
            error: FormError(text: "no"),
            ownerType: "Till",
            registrationSite: RegistrationSite(fileID: "App/Till.swift", line: 7)
        )
        #expect("\(failure)".hasPrefix("Till registered at App/Till.swift:7: "))
        let report = DeliveryReport(reached: 6, completed: 2, failures: [failure], dropped: 1, discarded: 1)
        #expect("\(report)" == "6 reached: 2 completed, 1 failed, 1 dropped, 1 discarded, 1 unfinished")
        #expect(!report.isComplete)
        #expect("\(DeliveryReport(reached: 2, completed: 2))" == "2 reached: 2 completed")
        #expect(DeliveryReport().isComplete)
    }
}
