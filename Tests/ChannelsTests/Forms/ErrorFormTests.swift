import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Testing

struct ErrorFormTests {
    let board = Switchboard(onFault: { _ in })

    @Test func namesAreValidatedAndAKindMismatchNamesBoth() throws {
        let sold = board.channel("shop.sold" as ChannelName<Int>)
        _ = board.state(StateName("shop.sales"), initial: 1)
        for text in ["", "a b", "a.*"] {
            #expect(throws: ChannelError.self) { try StateName<Int>(validating: text) }
            #expect(throws: ChannelError.self) { try RequestName<Int, Int>(validating: text) }
        }
        for (name, parts) in [("shop.sales", ["state", "Int"]), ("shop.sold", ["messages", "Int"])] {
            for error in [
                #expect(throws: ChannelError.self) { try board.channel(name, of: [Bool].self) },
                #expect(throws: ChannelError.self) { try board.state(name, of: [Bool].self, initial: []) },
                #expect(throws: ChannelError.self) {
                    try board.requests(name, of: [Bool].self, returning: Int.self)
                },
            ] {
                #expect(error?.code == .typeMismatch)
                #expect(error?.name == name)
                let text = error?.description ?? ""
                for part in parts + ["Array<Bool>", name] { #expect(text.contains(part), "\(text)") }
            }
        }
        withExtendedLifetime(sold) {}
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func trapOfAConflictNamesBothTypesAndTheName() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let board = Switchboard()
            let held = board.channel(ChannelName<Int>("shop.x"))
            _ = board.channel(ChannelName<String>("shop.x"))
            withExtendedLifetime(held) {}
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        for word in ["Int", "String", "shop.x", "one kind and type"] { #expect(text.contains(word), "\(text)") }
    }
    #endif

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test func traceOfLessThanNothingEndsTheProgram() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Switchboard.Diagnostics.trace(keeping: -1)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let message = "Diagnostics.trace(keeping: -1): the number must not be negative; write"
        #expect(text.contains(message), "\(text)")
    }
    #endif

    @Test func faultsAndErrorsCanBeMade() {
        let site = CallSite(fileID: "App/Till.swift", line: 7)
        let fault = Fault(code: .listenerThrew, channelName: "sold", registrationSite: site, count: 2)
        let text = "listenerThrew on channel sold, listener registered at App/Till.swift:7"
        #expect("\(fault)" == "\(text) (2 times so far)")
        let refused = Fault(code: .recursionLimit, channelKind: .state, channelName: "a", detail: "limit 64")
        #expect("\(refused)" == "recursionLimit on state a, limit 64")
        #expect("\(Fault(code: .listenerThrew, channelName: "a", underlyingError: Trouble()))".contains(" a: Trouble"))
        let made = ChannelError(.noResponder, name: "shop.price", description: "nobody responds")
        #expect(made.code == .noResponder && made.name == "shop.price")
        #expect("\(made) \(made.code)" == "nobody responds noResponder")
        #expect(ChannelError.Code.typeMismatch != .invalidName)
    }

    @Test func aReportIsOneLine() {
        let site = CallSite(fileID: "App/Till.swift", line: 7)
        let failure = DeliveryFailure(error: Trouble(text: "no"), ownerType: "Till", registrationSite: site)
        #expect("\(failure)".hasPrefix("Till registered at App/Till.swift:7: "))
        let report = DeliveryReport(
            completedCount: 2,
            failures: [failure],
            droppedCount: 1,
            discardedCount: 1,
            unfinishedCount: 1
        )
        #expect("\(report)" == "6 reached: 2 completed, 1 failed, 1 dropped, 1 discarded, 1 unfinished")
        let whole = DeliveryReport(completedCount: 2)
        #expect("\(whole)" == "2 reached: 2 completed" && whole.isComplete && !report.isComplete)
        // Nobody has handled it.
        #expect(!DeliveryReport().isComplete)
    }
}
