import Channels
import Testing

@testable import ChannelsBridge

/// Errors of whoever sets a bridge up: they end the program and name what is wrong.
@Suite(.hangLimit)
struct MistakeTests {
    enum Mistake: String, CaseIterable, Codable {
        case bridgeWithoutName, groupWithoutName, negativeRetries, retriesOfWhatIsNotDurable
        case groupOfWhatIsSent, lastMessagesOfNone, pipelineOfNothing
        case takesNothing, listenerTimeoutOfZero, requestTimeoutOfZero, negativeCloseTimeout, negativeBackoff,
            backoffMadeNegative
        case startThatIsNoTime, nameTakenAsItself, brokerThatKeepsNothing

        func make() {
            switch self {
            case .bridgeWithoutName: bridge("")
            case .takesNothing: bridge("till", BridgeConfiguration(prefetchLimit: 0))
            case .listenerTimeoutOfZero: bridge("till", BridgeConfiguration(listenerTimeout: .zero))
            case .requestTimeoutOfZero: bridge("till", BridgeConfiguration(requestTimeout: .zero))
            case .negativeCloseTimeout: bridge("till", BridgeConfiguration(closeTimeout: .seconds(-1)))
            case .negativeBackoff: _ = Backoff(first: .seconds(-1))
            case .backoffMadeNegative: bridge("till", BridgeConfiguration().with { $0.backoff.limit = .seconds(-1) })
            case .startThatIsNoTime: _ = ReplayStart.time(secondsSince1970: .nan)
            case .groupWithoutName: _ = BridgeRoute.incoming(.sold).inGroup("")
            case .negativeRetries: _ = BridgeRoute.incoming(.sold, durable: true).retryingUndecodable(atMost: -1)
            case .retriesOfWhatIsNotDurable: _ = BridgeRoute.incoming(.sold).retryingUndecodable(atMost: 1)
            case .groupOfWhatIsSent: _ = BridgeRoute.outgoing(.sold).inGroup("tills")
            case .nameTakenAsItself: _ = BridgeRoute.incoming(.sold, as: .sold)
            case .brokerThatKeepsNothing: _ = InMemoryBroker(limits: InMemoryBroker.Limits(keptMessages: 0))
            case .lastMessagesOfNone: _ = RecentMessages<Int>(limit: 0)
            case .pipelineOfNothing: _ = PublishPipeline(limit: 1, byteLimit: 1, window: 0)
            }
        }

        private func bridge(
            _ name: String,
            _ configuration: BridgeConfiguration = BridgeConfiguration()
        ) {
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
            case .bridgeWithoutName: #"Bridge(""): the name is empty; write the role"#
            case .takesNothing: "BridgeConfiguration.prefetchLimit is 0; it must be positive: write"
            case .listenerTimeoutOfZero:
                "BridgeConfiguration.listenerTimeout is 0.0 seconds; it must be positive: write"
            case .requestTimeoutOfZero: "BridgeConfiguration.requestTimeout is 0.0 seconds; it must be positive: write"
            case .negativeCloseTimeout:
                "BridgeConfiguration.closeTimeout is -1.0 seconds; it must not be negative: write"
            case .negativeBackoff:
                "Backoff(first: -1.0 seconds, limit: 30.0 seconds) is not a valid back-off: use"
            case .backoffMadeNegative: "limit: -1.0 seconds) is not a valid back-off: use durations"
            case .startThatIsNoTime: "ReplayStart.time(secondsSince1970: nan) is not a point in time: pass seconds"
            case .groupWithoutName: #"BridgeRoute.inGroup(""): the name is empty; write the role"#
            case .negativeRetries: "retryingUndecodable(atMost: -1): the number must not be negative; write 0"
            case .retriesOfWhatIsNotDurable:
                "the route of 'shop.sold': only a route that receives durable messages can retry them; write"
            case .groupOfWhatIsSent: "the route of 'shop.sold': the route receives no messages; write"
            case .nameTakenAsItself:
                "shop.sold is both the local name and the remote one: write 'incoming(_:durable:)', or another name"
            case .brokerThatKeepsNothing: "InMemoryBroker.Limits.keptMessages is 0; it must be positive: write"
            case .lastMessagesOfNone: "defect of swift-channels: a window of 0 messages is not positive"
            case .pipelineOfNothing: "defect of swift-channels: a pipeline of 1 messages, 1 bytes and a window of 0"
            }
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: Mistake.allCases)
    func aMistakeInSettingUpEndsTheProgramAndIsNamed(mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            mistake.make()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(mistake.message), "\(text)")
    }
    #endif
}
