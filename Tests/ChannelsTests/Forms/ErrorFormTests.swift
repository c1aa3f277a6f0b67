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

    enum Mistake: String, CaseIterable, Codable, Mistaken {
        case interceptorOfAnotherSource, interceptorOfAState, tracesOfLessThanNothing

        // As those who write such a source are told.
        @available(*, deprecated)
        func make() {
            switch self {
            case .interceptorOfAnotherSource:
                _ = Texts(source: Channel<Int>()).intercept { post in .replace(post.message + "!") }
            case .interceptorOfAState: _ = Texts(source: StateChannel(0)).intercept { _ in .continue }
            case .tracesOfLessThanNothing: _ = Diagnostics.trace(keeping: -1)
            }
        }

        var message: String {
            switch self {
            case .interceptorOfAnotherSource: "Texts<Channel<Int>> cannot be intercepted: write"
            case .interceptorOfAState: "Texts<StateChannel<Int>> cannot be intercepted: write"
            case .tracesOfLessThanNothing: "Diagnostics.trace(keeping: -1): the number must not be negative; write"
            }
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: Mistake.allCases)
    func aMistakeEndsTheProgramAndIsNamed(mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            (mistake as any Mistaken).make()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(mistake.message), "\(text)")
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
        let made = ChannelError(code: .noResponder, name: "shop.price", description: "nobody responds")
        #expect(made.code == .noResponder && made.name == "shop.price")
        #expect("\(made) \(made.code)" == "nobody responds noResponder")
        #expect(ChannelError.Code.typeMismatch != .invalidName)
    }

    @Test func aReportIsOneLine() {
        let site = CallSite(fileID: "App/Till.swift", line: 7)
        let failure = DeliveryFailure(error: Trouble(text: "no"), ownerType: "Till", registrationSite: site)
        #expect("\(failure)".hasPrefix("Till registered at App/Till.swift:7: "))
        let report = DeliveryReport(reached: 6, completed: 2, failures: [failure], dropped: 1, discarded: 1)
        #expect("\(report)" == "6 reached: 2 completed, 1 failed, 1 dropped, 1 discarded, 1 unfinished")
        #expect("\(DeliveryReport(reached: 2, completed: 2))" == "2 reached: 2 completed")
        #expect(DeliveryReport().isComplete && !report.isComplete)
    }
}

/// What ends the program, whether or not the compiler has warned of it.
protocol Mistaken { func make() }

/// The messages of a source as text, which say that they can be intercepted.
@available(*, deprecated)
private struct Texts<Source: Listenable>: Interceptable {
    let source: Source

    func register(_ listener: consuming Listener<String>, isolation: isolated (any Actor)?) -> ListenerToken {
        source.register(listener.compactMap { (message: Source.Message) in "\(message)" }, isolation: isolation)
    }
}
