public import Channels

extension TransportMessage {
    /// Encodes a message as a bridge does, for a transport's outbox: a method that stores messages in the
    /// user's transaction.
    ///
    /// It has an envelope with a new identifier, the source `outbox` and the current time.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - channel: The channel on whose name it is posted.
    ///   - type: The name of the type in the envelope; by default the name of `Message`.
    ///   - codec: The codec of the receiving routes, JSON by default.
    ///   - subjectPrefix: The ``BridgeConfiguration/subjectPrefix`` of the receiving bridges.
    /// - Throws: ``BridgeError/Code/invalidName`` for the channel of a type, which has no name, or for a subject
    ///   that is too long; ``BridgeError/Code/unencodable``.
    public init<Message: Encodable>(
        posting message: Message,
        on channel: NamedChannel<Message>,
        type: String? = nil,
        codec: some Codec = JSONCodec(),
        subjectPrefix: String = ""
    ) throws {
        guard let name = channel.name else {
            throw BridgeError(.invalidName, detail: "the channel of \(Message.self) has no name: use a named one")
        }
        let format = MessageFormat(typeName: type ?? "\(Message.self)", codec: codec)
        let body = try format.encode(message, for: name)
        let envelope = EventEnvelope(
            id: randomIdentifier(),
            source: "outbox",
            type: format.typeName,
            time: Timestamp.now.text,
            contentType: codec.contentType
        )
        let subject = subjectPrefix.isEmpty ? name : "\(subjectPrefix).\(name)"
        try self.init(subject: subject, headers: envelope.headers, body: body)
    }
}
