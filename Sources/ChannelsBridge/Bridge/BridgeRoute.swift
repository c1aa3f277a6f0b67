internal import Channels

/// A channel or pattern that a bridge carries, and in which direction.
///
/// ```swift
/// let routes: [BridgeRoute] = [
///     .outgoing(.sold, durable: true),
///     .incoming(matching: "kitchen.*", of: Order.self),
///     .both(state: .sales, initial: Sales()),
///     .incoming(statesMatching: "sales.*", of: Sales.self),
///     .asking(.price),
/// ]
/// ```
///
/// In each direction, the first route that matches a name carries it: a message is sent once and delivered
/// once, no matter how many routes of a bridge match. If a durable and a non-durable route match, the durable
/// one carries the message. There is one exception: each durable name receives every message, so two durable
/// routes with different groups both deliver it. Both sides must declare the same type and the same
/// durability for a name.
///
/// Messages carry the name of their type without the module: `Order`. A message that declares a type is treated
/// like one that cannot be decoded, unless the type is this name or the name of the channel. If a type has
/// different names in two processes, set `type:` in both.
public struct BridgeRoute: Sendable {
    typealias StateWays = (sends: Bool, receives: Bool)

    enum Kind { case outgoing, incoming, state, other }

    /// Creates the worker of a part. `earlier` contains the parts of the same kind that take precedence.
    typealias MakeWorker =
        @Sendable (_ context: BridgeContext, _ earlier: [Part], _ options: Options) -> any RouteWorker

    struct Part: Sendable {
        let kind: Kind
        let pattern: ChannelPattern?
        let isDurable: Bool
        /// For states: whether values of this process are stored, and whether those of others are set here.
        var ways: StateWays?
        var options = Options()
        let makeWorker: MakeWorker

        /// Two durable routes with different names never shadow each other, because each durable name
        /// receives every message.
        func takesPrecedence(over later: Part, in bridge: String) -> Bool {
            if isDurable, later.isDurable {
                return options.durableName(in: bridge) == later.options.durableName(in: bridge)
            }
            return isDurable || later.isDurable || options.group == nil || options.group != later.options.group
        }
    }

    private(set) var parts: [Part]

    /// A route of one part.
    init(
        _ kind: Kind,
        _ pattern: ChannelPattern? = nil,
        isDurable: Bool = false,
        ways: StateWays? = nil,
        makeWorker: @escaping MakeWorker
    ) {
        parts = [Part(kind: kind, pattern: pattern, isDurable: isDurable, ways: ways, makeWorker: makeWorker)]
    }

    /// Encodes and decodes the messages of the route with a codec of its own instead of the bridge's:
    /// `.both(.position).encoded(with: BinaryCodec())`.
    ///
    /// All processes must use the same codec for a name: a message that declares another content type is not
    /// decoded.
    public func encoded(with codec: any Codec) -> BridgeRoute {
        changing { $0.options.codec = codec }
    }

    func changing(_ change: (inout Part) -> Void) -> BridgeRoute {
        var route = self
        for index in parts.indices { change(&route.parts[index]) }
        return route
    }

    /// A route with the parts of both.
    static func + (left: BridgeRoute, right: BridgeRoute) -> BridgeRoute {
        var route = left
        route.parts += right.parts
        return route
    }
}
