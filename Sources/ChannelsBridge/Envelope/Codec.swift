/// Encodes messages to bytes and decodes bytes to messages.
///
/// Its methods are called concurrently from any task. Their errors are reported as
/// ``BridgeError/Code/unencodable`` or ``BridgeError/Code/undecodable``. All processes that exchange messages
/// on a name must use the same codec: a message that declares another ``contentType`` is not decoded. All
/// JSON media types count as the same.
public protocol Codec: Sendable {
    /// The media type of the bytes: `application/json`.
    var contentType: String { get }

    /// Encodes a message.
    func encode<Message: Encodable>(_ message: Message) throws -> [UInt8]

    /// Decodes a message.
    ///
    /// The bytes are untrusted: the method must throw, and not trap, if they are not a message of the type.
    func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message
}
