public import Channels

extension BridgeRoute {
    /// Publishes the messages that are posted on a name in this process.
    ///
    /// Messages posted before the bridge is connected are queued, within its ``BridgeConfiguration/buffer``.
    /// Durable messages are published in order, without waiting for each acknowledgement, and repeated until
    /// they are acknowledged. `postAndWait` also waits for publishing: when it returns, the broker has
    /// acknowledged a durable message, or the report contains the error.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - durable: Whether the broker stores each message until every durable receiver has handled it, for
    ///     delivery at least once. Otherwise messages are delivered at most once.
    ///   - type: The name of the type in the envelope; by default the name of `Message`.
    public static func outgoing<Message: Encodable & Sendable>(
        _ name: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        outgoing(pattern(name), Message.self, durable, type) { $0.channel(name) }
    }

    /// Publishes the messages posted in this process on names that match a pattern, like
    /// ``outgoing(_:durable:type:)``.
    ///
    /// A message of another type on such a name is not sent. It is counted as failed and reported as a fault.
    public static func outgoing<Message: Encodable & Sendable>(
        matching pattern: ChannelPattern,
        of message: Message.Type,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        outgoing(pattern, message, durable, type) { _ in nil }
    }

    /// Subscribes to a name, and posts other processes' messages in this process.
    ///
    /// `Posted.origin` says where a message comes from. It is never sent out again.
    ///
    /// Messages are delivered one at a time. A durable message is acknowledged when every listener has finished
    /// with it, or at once if there are no listeners, so register them before the bridge runs. If a listener
    /// throws, the message is delivered to all of them again, until they have failed
    /// ``BridgeConfiguration/failureLimit`` times. Then the message becomes a ``DeadLetter``. Later messages
    /// are delivered meanwhile.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - durable: Whether to receive durable messages, including those published while this process was
    ///     disconnected. Processes whose bridges have the same name form a queue group: each message goes to
    ///     one of them. ``inGroup(_:)`` gives the group another name. A new durable name starts with what the
    ///     broker has stored, unless ``replaying(from:)`` says otherwise.
    ///   - type: The name of the type in the envelope; by default the name of `Message`.
    public static func incoming<Message: Decodable & Sendable>(
        _ name: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        incoming(matching: pattern(name), of: Message.self, durable: durable, type: type)
    }

    /// Subscribes to a name and posts its messages, including this process's own, on another name in this
    /// process.
    ///
    /// Use it where a process both posts work and takes a share of it. In this example, a message on
    /// `ordered` is stored, and goes to one of the processes with the durable name, which may be the one that
    /// posted it.
    ///
    /// ```swift
    /// let routes: [BridgeRoute] = [
    ///     .outgoing(.ordered, durable: true),
    ///     .incoming(.ordered, as: .cooking, durable: true),
    /// ]
    /// board[.cooking].listen(board) { board, order in try await cook(order) }
    /// ```
    ///
    /// A listener on the first name receives this process's posts at once, without the broker. Otherwise, the
    /// route is like ``incoming(_:durable:type:)``. Faults and dead letters use the first name.
    ///
    /// - Precondition: The names differ.
    public static func incoming<Message: Decodable & Sendable>(
        _ name: ChannelName<Message>,
        as local: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        require(
            name != local,
            "\(name) is both the local name and the remote one: write 'incoming(_:durable:)', or another name after 'as:'"
        )
        return incoming(pattern(name), Message.self, durable, type, postedOn: local)
    }

    /// Subscribes to names that match a pattern, and posts other processes' messages in this process, like
    /// ``incoming(_:durable:type:)``.
    public static func incoming<Message: Decodable & Sendable>(
        matching pattern: ChannelPattern,
        of message: Message.Type,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        incoming(pattern, message, durable, type, postedOn: nil)
    }

    /// - Parameter local: The name to post on; if nil, that is the name on which the message was published,
    ///   and messages of this process are left out.
    private static func incoming<Message: Decodable & Sendable>(
        _ pattern: ChannelPattern,
        _ message: Message.Type,
        _ isDurable: Bool,
        _ typeName: String?,
        postedOn local: ChannelName<Message>?
    ) -> BridgeRoute {
        BridgeRoute(.incoming, pattern, isDurable: isDurable) { context, earlier, options in
            let format = context.format(typeName ?? "\(Message.self)", options)
            var options = options
            options.takesOwn = local != nil
            return IncomingWorker(
                pattern,
                shadowedBy: earlier.compactMap(\.pattern),
                isDurable: isDurable,
                options,
                context
            ) { arrival in
                let message = try arrival.decode(Message.self, format)
                // The subject of a transport message is a valid name.
                let name = try local ?? ChannelName<Message>(validating: arrival.subject)
                let (origin, delivery) = (arrival.origin, arrival.delivery)
                return { onEnd in
                    do {
                        let board = context.switchboard
                        return try await board.deliver(message, to: name, from: origin, delivery, onEnd: onEnd)
                    } catch let error as ChannelError {
                        throw BridgeError(.unknownType, subject: name.text, underlyingError: error)
                    }
                }
            }
        }
    }

    /// Publishes and subscribes: ``outgoing(_:durable:type:)`` and ``incoming(_:durable:type:)``.
    ///
    /// With `durable`, give each process its own bridge name: processes with the same name share the
    /// messages, and a process drops its own.
    public static func both<Message: Codable & Sendable>(
        _ name: ChannelName<Message>,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        outgoing(name, durable: durable, type: type) + incoming(name, durable: durable, type: type)
    }

    /// Publishes and subscribes for names that match a pattern, like ``both(_:durable:type:)``.
    public static func both<Message: Codable & Sendable>(
        matching pattern: ChannelPattern,
        of message: Message.Type,
        durable: Bool = false,
        type: String? = nil
    ) -> BridgeRoute {
        outgoing(matching: pattern, of: message, durable: durable, type: type)
            + incoming(matching: pattern, of: message, durable: durable, type: type)
    }

    private static func outgoing<Message: Encodable & Sendable>(
        _ pattern: ChannelPattern,
        _: Message.Type,
        _ isDurable: Bool,
        _ typeName: String?,
        _ channel: @escaping @Sendable (Switchboard) -> (any AnyObject & Sendable)?
    ) -> BridgeRoute {
        BridgeRoute(.outgoing, pattern, isDurable: isDurable) { context, earlier, options in
            let format = context.format(typeName ?? "\(Message.self)", options)
            let packaging = Packaging(context, format) { message, subject in
                guard let message = message as? Message else {
                    let detail = "a \(Swift.type(of: message)) was posted, but the route is for \(Message.self)"
                    throw BridgeError(.unencodable, subject: subject, detail: detail)
                }
                return try format.encode(message, for: subject)
            }
            let sender: any RouteSender =
                isDurable ? DurableSender(context, packaging) : PromptSender(context, packaging)
            let switchboard = context.switchboard
            let patterns = earlier.compactMap(\.pattern)
            return OutgoingWorker(pattern, shadowedBy: patterns, channel(switchboard), sender, switchboard)
        }
    }

    private static func pattern<Message>(_ name: ChannelName<Message>) -> ChannelPattern { pattern(named: name.text) }

    /// A name as a pattern without wildcards. Every valid name is one.
    static func pattern(named name: String) -> ChannelPattern { ChannelPattern(stringLiteral: name) }
}
