internal import Channels

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
        /// Makes the worker; the patterns are those of the parts of the same kind that go before it.
        let makeWorker: @Sendable (_ context: BridgeContext, _ earlier: [ChannelPattern]) -> any RouteWorker
    }

    let parts: [Part]
}
