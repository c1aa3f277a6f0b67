#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Encodes messages as JSON, with the defaults of Foundation's encoder: dates as seconds since 2001, data in
/// Base64.
public struct JSONCodec: Codec {
    /// `application/json`.
    public var contentType: String { "application/json" }

    /// Creates a codec.
    public init() {}

    /// Encodes a message as JSON.
    public func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] {
        Array(try Self.encoder.encode(message))
    }

    /// Decodes a message from JSON.
    public func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
        try Self.decoder.decode(type, from: Data(bytes))
    }

    // Shared by all tasks: neither is ever changed, and each call has its own state.
    private static let encoder = JSONEncoder()
    private static let decoder = JSONDecoder()
}
