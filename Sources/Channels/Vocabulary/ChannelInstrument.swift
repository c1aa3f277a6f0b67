/// Observes the faults of a switchboard, and its posts and deliveries while its `diagnostics` (in
/// `ChannelsDiagnostics`) are `.trace`.
///
/// By default, each method only delivers the message or calls the listener, and `report` does nothing.
///
/// ```swift
/// struct Stopwatch: ChannelInstrument {
///     func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
///         let time = ContinuousClock().measure(call)
///         print(delivery.post.channelName, delivery.registrationSite, time)
///     }
/// }
/// let token = board.addInstrument(Stopwatch())
/// ```
///
/// The methods are called with no lock held, on the thread and in the task that posts the message or runs the listener:
/// they must not block. An instrument may use channels; its own synchronous posts are not passed to instruments. If
/// there are several instruments, they are nested in the order added.
public protocol ChannelInstrument: Sendable {
    /// Wraps the post of a message.
    /// - Parameter deliver: Delivers the message: when it returns, direct listeners have run, and the message is
    ///   enqueued for the others. Call it at most once. If you do not call it, the message is delivered when this
    ///   method returns. Its argument becomes ``DeliveryEvent/context``.
    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void)

    /// Wraps the call of a synchronous listener.
    /// - Parameter call: Calls the listener. Call it at most once. If you do not call it, the listener is called when
    ///   this method returns.
    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void)

    /// Wraps the call of an async listener or a responder.
    /// - Parameters:
    ///   - isolation: The isolation in which the listener begins to run.
    ///   - call: Calls the listener. Call it at most once. If you do not call it, the listener is called when this
    ///     method returns.
    func deliver(
        _ delivery: DeliveryEvent,
        isolation: isolated (any Actor)?,
        _ call: () async -> Void
    ) async

    /// Receives every fault, in addition to the fault handler of the switchboard or channel.
    func report(_ fault: Fault)
}

extension ChannelInstrument {
    /// Delivers the message without a context.
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

/// A post of a message, as instruments see it.
public struct PostEvent: Sendable {
    /// The name of the channel, or its type if it has no name.
    public let channelName: String
    /// The kind of the channel.
    public let channelKind: ChannelKind
    private let message: any Any.Type
    private let sender: (any Any.Type)?
    /// The source location of the post, if known.
    public let site: CallSite?
    /// Whether the message was posted here or came over a bridge.
    public let origin: MessageOrigin

    package init(
        channelName: String,
        channelKind: ChannelKind,
        messageType: any Any.Type,
        senderType: (any Any.Type)?,
        site: CallSite?,
        origin: MessageOrigin
    ) {
        self.channelName = channelName
        self.channelKind = channelKind
        message = messageType
        sender = senderType
        self.site = site
        self.origin = origin
    }

    /// The type of the channel's messages.
    public var messageType: String { "\(message)" }

    /// The type of the object given as `from:`.
    public var senderType: String? { sender.map { "\($0)" } }
}

/// A call of a listener, as instruments see it.
public struct DeliveryEvent: Sendable {
    /// The post being delivered.
    public let post: PostEvent
    /// How messages reach the listener.
    public let deliveryKind: DeliveryKind
    private let owner: (any Any.Type)?
    /// Where the listener was registered.
    public let registrationSite: CallSite
    /// The time from the post to this call.
    public let waitTime: Duration
    /// The value that this instrument passed to `deliver` in ``ChannelInstrument/post(_:_:)``.
    public let context: (any Sendable)?

    package init(
        post: PostEvent,
        deliveryKind: DeliveryKind,
        ownerType: (any Any.Type)?,
        registrationSite: CallSite,
        waitTime: Duration,
        context: (any Sendable)?
    ) {
        self.post = post
        self.deliveryKind = deliveryKind
        owner = ownerType
        self.registrationSite = registrationSite
        self.waitTime = waitTime
        self.context = context
    }

    /// The type of the owner; nil if the token owns the listener.
    public var ownerType: String? { owner.map { "\($0)" } }
}
