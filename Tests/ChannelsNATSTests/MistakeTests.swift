#if NATS
import ChannelsBridge
import ChannelsNATS
import Testing

/// Values of a configuration that make no sense: they end the program and are named.
struct MistakeTests {
    enum Mistake: String, CaseIterable, Codable {
        case noServer, noWait, takesNothing, noReplica, noAge, noBytes, noMessages, noWindow

        func make() {
            var configuration = NATSConfiguration()
            configuration.streams = [NATSStream("SHOP", subjects: ["shop.>"])]
            switch self {
            case .noServer: configuration.servers = []
            case .noWait: configuration.deliveries.acknowledgementWait = .zero
            case .takesNothing: configuration.deliveries.pendingLimit = 0
            case .noReplica: configuration.replicas = 0
            case .noAge: configuration.streams[0].limits.age = .zero
            case .noBytes: configuration.streams[0].limits.bytes = -1
            case .noMessages: configuration.streams[0].limits.messages = 0
            case .noWindow: configuration.streams[0].duplicateWindow = .zero
            }
            _ = NATSTransport(configuration)
        }

        var message: String {
            switch self {
            case .noServer: "NATSConfiguration.servers is empty; write"
            case .noWait: "NATSConfiguration.deliveries.acknowledgementWait is 0.0 seconds; it must be positive: write"
            case .takesNothing: "NATSConfiguration.deliveries.pendingLimit is 0; it must be positive: write"
            case .noReplica: "NATSConfiguration.replicas is 0; it must be positive: write"
            case .noAge: "NATSStream('SHOP').limits.age is 0.0 seconds; it must be positive: write"
            case .noBytes: "NATSStream('SHOP').limits.bytes is -1; it must be positive: write"
            case .noMessages: "NATSStream('SHOP').limits.messages is 0; it must be positive: write"
            case .noWindow: "NATSStream('SHOP').duplicateWindow is 0.0 seconds; it must be positive: write"
            }
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    @Test(arguments: Mistake.allCases)
    func aValueThatMakesNoSenseEndsTheProgramAndIsNamed(mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            mistake.make()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(mistake.message), "\(text)")
    }
    #endif
}
#endif
