import Channels
import Testing

@testable import ChannelsBridge

/// Errors of whoever sets a bridge up: they end the program and name what is wrong.
@Suite(.hangLimit)
struct MistakeTests {
    enum Mistake: String, CaseIterable, Codable {
        case bridgeWithoutName, listenerTimeoutOfZero, groupWithoutName, negativeRetries, retriesOfWhatIsNotDurable
        case groupOfWhatIsSent, lastMessagesOfNone, pipelineOfNothing

        func make() {
            switch self {
            case .bridgeWithoutName: bridge("")
            case .listenerTimeoutOfZero: bridge("till", BridgeConfiguration(listenerTimeout: .zero))
            case .groupWithoutName: _ = BridgeRoute.incoming(.sold).inGroup("")
            case .negativeRetries: _ = BridgeRoute.incoming(.sold, durable: true).retryingUndecodable(atMost: -1)
            case .retriesOfWhatIsNotDurable: _ = BridgeRoute.incoming(.sold).retryingUndecodable(atMost: 1)
            case .groupOfWhatIsSent: _ = BridgeRoute.outgoing(.sold).inGroup("tills")
            case .lastMessagesOfNone: _ = RecentMessages<Int>(limit: 0)
            case .pipelineOfNothing: _ = PublishPipeline(limit: 1, byteLimit: 1, window: 0)
            }
        }

        private func bridge(_ name: String, _ configuration: BridgeConfiguration = BridgeConfiguration()) {
            let transport = InMemoryTransport(InMemoryBroker())
            _ = Bridge(
                name,
                switchboard: Switchboard(),
                transport: transport,
                routes: [],
                configuration: configuration
            )
        }

        var message: String {
            switch self {
            case .bridgeWithoutName: "a bridge needs a name"
            case .listenerTimeoutOfZero: "BridgeConfiguration.listenerTimeout is not positive"
            case .groupWithoutName: "a group needs a name"
            case .negativeRetries: "the number of retries must not be negative, and is -1"
            case .retriesOfWhatIsNotDurable: "only a route that receives durable messages can retry them"
            case .groupOfWhatIsSent: "the route receives no messages"
            case .lastMessagesOfNone: "the last 0 messages are none"
            case .pipelineOfNothing: "nothing would ever be published"
            }
        }
    }

    @Test(arguments: Mistake.allCases)
    func aMistakeInSettingUpEndsTheProgramAndIsNamed(mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            mistake.make()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(mistake.message), "\(text)")
    }
}
