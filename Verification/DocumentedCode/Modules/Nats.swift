// As much of nats.swift as the documentation sketches a transport over.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation

public enum NatsEvent: Sendable { case connected, disconnected, closed }
public enum NatsEventKind: Sendable { case connected, disconnected, closed }

public struct NatsHeaderName { public init(_ name: String) throws {} }
public struct NatsHeaderValue { public init(_ value: String) {} }

public struct NatsHeaderMap {
    public init() {}
    public mutating func append(_ name: NatsHeaderName, _ value: NatsHeaderValue) {}
}

public struct NatsMessage: Sendable {
    public var subject: String
    public var payload: Data?
}

public struct NatsClientOptions {
    public init() {}
    public func url(_ url: URL) -> NatsClientOptions { self }
    public func build() -> NatsClient { NatsClient() }
}

public final class NatsClient: Sendable {
    public func on(_ kinds: [NatsEventKind], _ handler: @escaping @Sendable (NatsEvent) -> Void) {}
    public func connect() async throws {}
    public func flush() async throws {}
    public func close() async throws {}
    public func publish(_ payload: Data, subject: String, headers: NatsHeaderMap) async throws {}
    public func subscribe(subject: String) async throws -> AsyncThrowingStream<NatsMessage, any Error> {
        AsyncThrowingStream { nil }
    }
}
