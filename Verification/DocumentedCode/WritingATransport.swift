import Testing

/// Stands for the client library of a broker.
final class Client: Sendable {
    typealias Headers = [(name: String, value: String)]
    typealias Handler = @Sendable (_ subject: String, _ headers: Headers, _ body: [UInt8]) -> Void

    static func connect(to server: String, onChange: @escaping @Sendable (Bool) -> Void) async throws -> Client {
        Client()
    }

    func publish(_ body: [UInt8], headers: Headers, to subject: String) async throws {}
    func subscribe(to pattern: String, onMessage: @escaping Handler) async throws {}
    func flush(timeout: Duration) async -> Bool { true }
    func close() async {}
}
