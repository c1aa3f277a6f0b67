public import Channels

/// One of the things a bridge carries: which name, in which direction.
///
/// ```swift
/// let routes: [BridgeRoute] = [
///     .outgoing(.sold, durable: true),
///     .incoming(matching: "kitchen.*", of: Order.self),
///     .both(state: .sales, initial: Sales()),
///     .asking(.price),
/// ]
/// ```
///
/// A name is carried by the first route that matches it, in each direction: a message is sent once and
/// delivered once, however many routes of a bridge match it. Durable routes go before the others: what one of
/// them would carry is not left to a route that may lose it. Both ends of a name declare the same type and
/// the same durability.
///
/// The type of the messages travels as its name without the module, `Order`; a message that says that it is
/// of another type is refused. Where types in two processes have different names, `type:` says what travels.
public struct BridgeRoute: Sendable {
    enum Kind { case outgoing, incoming, other }

    struct Part: Sendable {
        let kind: Kind
        let pattern: ChannelPattern?
        var isDurable = false
        /// Makes the lane; the patterns are those of the parts of the same kind that go before it.
        let lane: @Sendable (_ context: BridgeContext, _ earlier: [ChannelPattern]) -> any Lane
    }

    let parts: [Part]
}

// MARK: - Messages

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
            OutgoingLane(
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
            IncomingLane(pattern: pattern, shadowedBy: earlier, isDurable: isDurable, context: context) {
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

// MARK: - States

extension BridgeRoute {
    /// Keeps a named state the same here and at the broker: values set here are stored, and the values that
    /// others store are set here.
    ///
    /// When the bridge is connected, the value at the broker, if there is one, replaces the one here; so a
    /// process that joins late has the current state and then the changes. Where there is none, the value
    /// here is stored. After that the last value stored wins, everywhere: of values set in two processes at
    /// the same time, each process may see its own first and both end with the same. Values that are soon
    /// replaced may be left out.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - initial: The first value, where the switchboard has no state of the name.
    ///   - type: What the type is called on the way; its own name if nil.
    public static func both<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: true, receives: true)
    }

    /// Stores the values of a named state at the broker, from the current one on, whatever others store. See
    /// ``both(state:initial:type:)``.
    public static func outgoing<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: true, receives: false)
    }

    /// Sets a named state to what others store at the broker: the current value first. What is set here stays
    /// here. See ``both(state:initial:type:)``.
    public static func incoming<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: false, receives: true)
    }

    private static func state<State: Codable & Sendable>(
        _ name: StateName<State>,
        _ initial: State,
        _ type: String?,
        sends: Bool,
        receives: Bool
    ) -> BridgeRoute {
        BridgeRoute(parts: [
            Part(kind: .other, pattern: nil) { context, _ in
                StateLane(
                    name,
                    initial: initial,
                    typeName: type ?? "\(State.self)",
                    sends: sends,
                    receives: receives,
                    context: context
                )
            }
        ])
    }
}

// MARK: - Requests

extension BridgeRoute {
    /// Has another process answer what is asked here on a name and nobody here responds to.
    ///
    /// `RequestChannel.ask` throws `ChannelError.noResponder` where nobody responds anywhere, and a
    /// ``BridgeError`` where no reply comes in time, the other side's responder threw, or there is no
    /// connection. Counts as a responder of the lowest priority.
    public static func asking<Request: Codable & Sendable, Response: Codable & Sendable>(
        _ name: RequestName<Request, Response>
    ) -> BridgeRoute {
        BridgeRoute(parts: [Part(kind: .other, pattern: nil) { context, _ in AskingLane(name, context: context) }])
    }

    /// Answers what other processes ask on a name by whoever responds here.
    ///
    /// To be declared where somebody responds: of several processes with this route, one gets each request,
    /// and says so if nobody responds. What a responder throws is described to the asker, so it leaves this
    /// process.
    public static func answering<Request: Codable & Sendable, Response: Codable & Sendable>(
        _ name: RequestName<Request, Response>
    ) -> BridgeRoute {
        BridgeRoute(parts: [Part(kind: .other, pattern: nil) { context, _ in AnsweringLane(name, context: context) }])
    }
}
