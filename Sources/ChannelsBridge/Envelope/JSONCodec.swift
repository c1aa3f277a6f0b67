#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Messages as JSON, as Foundation's encoder writes it: dates as seconds since 2001, data in Base64.
public struct JSONCodec: Codec {
    /// `application/json`.
    public var contentType: String { "application/json" }

    /// Creates a codec.
    public init() {}

    /// The JSON of a message.
    public func encode<Message: Encodable>(_ message: Message) throws -> [UInt8] {
        Array(try Self.encoder.encode(message))
    }

    /// The message of a JSON text.
    public func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message {
        try Self.decoder.decode(type, from: Data(bytes))
    }

    // Never changed, and each call keeps its state to itself.
    private static let encoder = JSONEncoder()
    private static let decoder = JSONDecoder()
}
