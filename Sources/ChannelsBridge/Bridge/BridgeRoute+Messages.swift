public import Channels

extension BridgeRoute {
    /// Sends what is posted in this process on a name.
    ///
    /// What is posted before the bridge is connected waits. In all, ``BridgeConfiguration/outgoingLimit``
    /// messages may wait. `postAndWait` waits for the sending, too: when it returns, a durable
    /// message has been acknowledged by the broker, or the report says why not.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - durable: Whether the broker keeps each message until every durable receiver has handled it: at
    ///     least once. If not: at most once.
    ///   - type: What the type is called on the way; its own name if nil.
    public static func outgoing<Message: Encodable & Sendable>(
        _ name: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        BridgeRoute(parts: [
            outgoing(pattern(name), Message.self, durable, type) { $0.switchboard.channel(name) }
        ])
    }

    /// Sends what is posted in this process on the names that match a pattern. See
    /// ``outgoing(_:durable:type:)``.
    ///
    /// A message of another type on such a name is not sent: it is counted as failed and raises a fault.
    public static func outgoing<Message: Encodable & Sendable>(
        matching pattern: ChannelPattern,
        of message: Message.Type,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        BridgeRoute(parts: [outgoing(pattern, message, durable, type) { _ in nil }])
    }

    /// Posts here what other processes send on a name, with `Posted.origin` telling which. It is never sent
    /// out again.
    ///
    /// Messages come in one after the other. A durable message is acknowledged when every listener has
    /// finished with it, also where nobody listens: so register listeners before the bridge runs. Where one
    /// throws, the message is delivered again, to all of them, up to
    /// ``BridgeConfiguration/maximumDeliveries`` times, after which it is a ``DeadLetter``. Other messages
    /// follow meanwhile.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - durable: Whether to receive what was posted durably, also while this process was away. Processes
    ///     whose bridges have one name share the messages: each goes to one of them.
    ///   - type: What the type is called on the way; its own name if nil.
    public static func incoming<Message: Decodable & Sendable>(
        _ name: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        BridgeRoute(parts: [incoming(pattern(name), Message.self, durable, type)])
    }

    /// Posts here what other processes send on the names that match a pattern. See
    /// ``incoming(_:durable:type:)``.
    public static func incoming<Message: Decodable & Sendable>(
        matching pattern: ChannelPattern,
        of message: Message.Type,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        BridgeRoute(parts: [incoming(pattern, message, durable, type)])
    }

    /// Sends what is posted here and posts here what others send.
    ///
    /// Where it is durable, give each process a bridge name of its own: processes of one name share the
    /// messages, and one that gets its own back does not hand it on to the others.
    public static func both<Message: Codable & Sendable>(
        _ name: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        BridgeRoute(
            parts: outgoing(name, durable: durable, type: type).parts
                + incoming(name, durable: durable, type: type).parts
        )
    }

    /// Sends what is posted here and posts here what others send, on the names that match a pattern.
    public static func both<Message: Codable & Sendable>(
        matching pattern: ChannelPattern,
        of message: Message.Type,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        BridgeRoute(
            parts: outgoing(matching: pattern, of: message, durable: durable, type: type).parts
                + incoming(matching: pattern, of: message, durable: durable, type: type).parts
        )
    }

    private static func outgoing<Message: Encodable & Sendable>(
        _ pattern: ChannelPattern,
        _: Message.Type,
        _ isDurable: Bool,
        _ typeName: String?,
        _ channel: @escaping @Sendable (BridgeContext) -> (any AnyObject & Sendable)?
    ) -> Part {
        Part(kind: .outgoing, pattern: pattern, isDurable: isDurable) { context, earlier in
            OutgoingWorker(
                pattern: pattern,
                shadowedBy: earlier,
                channel: channel(context),
                isDurable: isDurable,
                typeName: typeName ?? "\(Message.self)",
                context: context
            ) { message, subject, context in
                guard let message = message as? Message else {
                    let detail = "a \(Swift.type(of: message)) was posted, the route is for \(Message.self)"
                    throw BridgeError(.unencodable, subject: subject, detail: detail)
                }
                return try context.encode(message, for: subject)
            }
        }
    }

    private static func incoming<Message: Decodable & Sendable>(
        _ pattern: ChannelPattern,
        _: Message.Type,
        _ isDurable: Bool,
        _ typeName: String?
    ) -> Part {
        let typeName = typeName ?? "\(Message.self)"
        return Part(kind: .incoming, pattern: pattern, isDurable: isDurable) { context, earlier in
            IncomingWorker(pattern: pattern, shadowedBy: earlier, isDurable: isDurable, context: context) {
                arrival,
                context in
                let message = try arrival.decode(Message.self, named: typeName, with: context.configuration.codec)
                // The subject of a transport message is a valid name.
                let name = try ChannelName<Message>(validating: arrival.subject)
                let origin = arrival.origin
                return { waits in
                    do {
                        return try await context.switchboard.deliver(message, to: name, from: origin, waits: waits)
                    } catch let error as ChannelError {
                        throw BridgeError(.unknownType, subject: name.text, underlyingError: error)
                    }
                }
            }
        }
    }

    /// A name as a pattern without wildcards. Every valid name is one.
    private static func pattern<Message>(_ name: ChannelName<Message>) -> ChannelPattern {
        ChannelPattern(stringLiteral: name.text)
    }
}
