/// Is told what passes through the channels of a switchboard while its ``Diagnostics`` are `.trace`, and of
/// every fault whatever they are.
///
/// Logs, metrics and spans are built on it, and so are tools that look into a running program. Each requirement
/// has a default that only delivers, or calls the listener, and does nothing else.
///
/// ```swift
/// struct Stopwatch: ChannelInstrument {
///     func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
///         let time = ContinuousClock().measure(call)
///         print(delivery.post.channelName, delivery.site, time)
///     }
/// }
/// let token = board.add(Stopwatch())
/// ```
///
/// The methods are called on the thread, and in the task, in which the message is posted or the listener
/// runs, without any lock: they must not block. An instrument may use channels; what it posts itself,
/// synchronously, is not handed to instruments. With several instruments, each goes on with the next, in the
/// order in which they were added.
public protocol ChannelInstrument: Sendable {
    /// A message is posted.
    ///
    /// - Parameters:
    ///   - post: Who posts what on which channel.
    ///   - deliver: Delivers the message: listeners that are called directly have run when it returns, the others
    ///     have it enqueued. To be called once; if it is not, the message is delivered afterwards. Its argument
    ///     travels with the message, see ``DeliveryEvent/context``.
    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void)

    /// A synchronous listener is called.
    ///
    /// - Parameters:
    ///   - delivery: Who is called with what was posted.
    ///   - call: Calls the listener. To be called once; if it is not, the listener is called afterwards.
    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void)

    /// An async listener, or a responder, is called.
    ///
    /// - Parameters:
    ///   - delivery: Who is called with what was posted.
    ///   - isolation: Where the listener begins to run.
    ///   - call: Calls the listener. To be called once; if it is not, the listener is called afterwards.
    func deliver(
        _ delivery: DeliveryEvent,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async

    /// Something went wrong and was survived. Called in addition to the handler of the switchboard, or of the
    /// channel.
    func report(_ fault: Fault)
}

extension ChannelInstrument {
    /// Delivers the message, without a context.
    public func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) { deliver(nil) }

    /// Calls the listener.
    public func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) { call() }

    /// Calls the listener, and returns when it has finished.
    public func deliver(
        _ delivery: DeliveryEvent,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async { await call() }

    /// Does nothing.
    public func report(_ fault: Fault) {}
}

/// A message is being posted.
public struct PostEvent: Sendable {
    /// The name of the channel, or its type if it has none.
    public let channelName: String
    /// What the channel stands for.
    public let channelKind: ChannelKind
    /// The type of the messages of the channel.
    public let messageType: any Any.Type
    /// The type of the object given as `from:`.
    public let senderType: (any Any.Type)?
    /// Where the post is written; nil where that is not known.
    public let site: RegistrationSite?
    /// Whether the message was posted in this process or came in over a bridge.
    public let origin: Origin

    /// Creates an event, for tests of instruments.
    public init(
        channelName: String,
        channelKind: ChannelKind = .messages,
        messageType: any Any.Type,
        senderType: (any Any.Type)? = nil,
        site: RegistrationSite? = nil,
        origin: Origin = .local
    ) {
        self.channelName = channelName
        self.channelKind = channelKind
        self.messageType = messageType
        self.senderType = senderType
        self.site = site
        self.origin = origin
    }
}

/// A listener is being called.
public struct DeliveryEvent: Sendable {
    /// The post it is called for.
    public let post: PostEvent
    /// How messages reach the listener.
    public let delivery: ListenerSnapshot.Delivery
    /// The type of the owner; nil where the token owns the listener.
    public let ownerType: (any Any.Type)?
    /// Where the listener was registered.
    public let site: RegistrationSite
    /// How long the message was on its way, from the post to this call.
    public let waited: Duration
    /// What the same instrument gave to the post, see ``ChannelInstrument/post(_:_:)``.
    public let context: (any Sendable)?

    /// Creates an event, for tests of instruments.
    public init(
        post: PostEvent,
        delivery: ListenerSnapshot.Delivery = .direct,
        ownerType: (any Any.Type)? = nil,
        site: RegistrationSite,
        waited: Duration = .zero,
        context: (any Sendable)? = nil
    ) {
        self.post = post
        self.delivery = delivery
        self.ownerType = ownerType
        self.site = site
        self.waited = waited
        self.context = context
    }
}
