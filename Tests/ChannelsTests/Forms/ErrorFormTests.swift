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

    @Test(arguments: ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\u{0}", "a.*", ">", "a*", "é\u{2003}", String(repeating: "x", count: 1_025)])
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
        let error = await #expect(throws: ChannelError.self) { try await board.requests(RequestName<Int, String>("shop.price")).ask(1) }
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
}
