#if SQLite
import Channels
import ChannelsBridge
import ChannelsSQLite
import Testing

/// Values of a configuration that make no sense: they end the program and are named.
struct MistakeTests {
    enum Mistake: String, CaseIterable, Codable {
        case noPath, pathWithZero, noBusyTimeout, noAge, noBody, noMessages, negativeBytes

        func make() {
            var configuration = SQLiteConfiguration(path: "sales.sqlite")
            switch self {
            case .noPath: configuration.path = ""
            case .pathWithZero: configuration.path = "sales\u{0}.sqlite"
            case .noBusyTimeout: configuration.busyTimeout = .zero
            case .noAge: configuration.retention.age = .zero
            case .noBody: configuration.bodyLimit = 0
            case .noMessages: configuration.retention.messages = 0
            case .negativeBytes: configuration.retention.bytes = -1
            }
            _ = SQLiteTransport(configuration)
        }

        var message: String {
            switch self {
            case .noPath: #"SQLiteConfiguration.path is "", not a path: write"#
            case .pathWithZero: #"SQLiteConfiguration.path is 'sales\0.sqlite', not a path: write"#
            case .noBusyTimeout: "SQLiteConfiguration.busyTimeout is 0.0 seconds; it must be positive: write"
            case .noAge: "SQLiteConfiguration.retention.age is 0.0 seconds; it must be positive: write"
            case .noBody: "SQLiteConfiguration.bodyLimit is 0; it must be positive: write"
            case .noMessages: "SQLiteConfiguration.retention.messages is 0; it must be positive: write"
            case .negativeBytes: "SQLiteConfiguration.retention.bytes is -1; it must be positive: write"
            }
        }
    }

    /// No clock can add the longest duration to the present.
    @Test(arguments: [Duration.nanoseconds(1), .seconds(Int64.max)])
    func shortestAndLongestDurationsOpenTheFile(duration: Duration) async throws {
        let file = TemporaryFile()
        var configuration = SQLiteConfiguration(path: file.path, busyTimeout: duration)
        configuration.retention.age = duration
        let transport = SQLiteTransport(configuration)
        try await transport.connect { _ in }
        try await transport.subscribe(TransportSubscription(to: "shop.>", durableName: "kitchen")) { message in
            message.settle?(.retry(after: duration))
        }
        try await transport.publish(try message("soup"), durable: true)
        try await transport.close(timeout: .seconds(60))
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
