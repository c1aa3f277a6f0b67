/// How the messages of a route are encoded, and what their type is called.
struct MessageFormat: Sendable {
    let typeName: String
    let codec: any Codec

    /// - Throws: ``BridgeError/Code/unencodable``.
    func encode<Message: Encodable>(_ message: Message, for subject: String) throws -> [UInt8] {
        do { return try codec.encode(message) } catch {
            throw BridgeError(.unencodable, subject: subject, detail: "as \(Message.self)", underlyingError: error)
        }
    }

    /// The format with the same codec for messages of another type.
    func of<Message>(_: Message.Type) -> MessageFormat { MessageFormat(typeName: "\(Message.self)", codec: codec) }
}
