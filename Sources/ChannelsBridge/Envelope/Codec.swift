/// How messages become bytes and bytes become messages.
///
/// Called by any task, several at a time; what it throws becomes ``BridgeError/Code/unencodable`` or
/// ``BridgeError/Code/undecodable``. All processes that talk on a name use one codec.
public protocol Codec: Sendable {
    /// What the bytes are, as a media type: `application/json`.
    var contentType: String { get }

    /// The bytes of a message.
    func encode<Message: Encodable>(_ message: Message) throws -> [UInt8]

    /// The message of bytes. They come from outside: it throws where they are not a message of the type, and
    /// does not trap.
    func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws -> Message
}
