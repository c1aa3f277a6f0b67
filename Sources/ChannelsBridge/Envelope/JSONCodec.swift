#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Encodes messages as JSON, with the defaults of Foundation's encoder: dates as seconds since 2001, data in
/// Base64.
///
/// JSON that is nested deeper than 64 levels, or is not in UTF-8, is not decoded.
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
        try checkNesting(of: bytes)
        return try Self.decoder.decode(type, from: Data(bytes))
    }

    // Shared by all tasks: neither is ever changed, and each call has its own state.
    private static let encoder = JSONEncoder()
    private static let decoder = JSONDecoder()
}

/// Throws if JSON from others is nested deeper than 64 levels, because Foundation's decoder would end the process.
///
/// - Complexity: O(*n*) in the number of bytes.
package func checkNesting(of json: some Sequence<UInt8>) throws {
    var (depth, isText, isEscaped) = (0, false, false)
    for byte in json {
        switch byte {
        case _ where isEscaped: isEscaped = false
        case UInt8(ascii: "\""): isText.toggle()
        case UInt8(ascii: "\\") where isText: isEscaped = true
        // Only in UTF-16 and UTF-32, which the decoder would read, too.
        case 0: depth = .max
        case _ where isText: break
        case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        default: break
        }
        guard depth <= 64 else {
            let problem = "JSON that is nested deeper than 64 levels, or is not in UTF-8"
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: problem))
        }
    }
}
