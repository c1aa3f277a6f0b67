public import Channels

/// What a transport subscribes to.
///
/// Without a durable name, the subscription receives the messages published from now on, durable or not, at
/// most once. With a group, each message goes to one of its members.
///
/// With a durable name, it receives the durable messages not yet settled under this name and pattern, at
/// least once. At the first subscription, these are all messages that the broker has stored, unless ``start``
/// says otherwise. Processes that subscribe with the same name and pattern form a queue group.
public struct TransportSubscription: Hashable, Sendable {
    /// A subject, or a pattern with `*` and `>`.
    public var pattern: ChannelPattern
    /// The name under which the broker keeps unsettled durable messages; nil for other messages.
    public var durableName: String? {
        get { exactDurableName?.text }
        set { exactDurableName = newValue.map { ExactText($0) } }
    }
    /// The group, for messages that are not durable: each message goes to one of its subscribers, even if
    /// their patterns differ. If nil, every subscriber receives it.
    public var group: String? {
        get { exactGroup?.text }
        set { exactGroup = newValue.map { ExactText($0) } }
    }
    /// Where the durable name starts if the broker does not know it. If this is nil, the transport's default
    /// applies, usually ``ReplayStart/beginning``.
    public var start: ReplayStart?
    /// How many unsettled messages of the durable name this transport may hold. It fetches no more; the
    /// others wait at the broker. Must be positive. ``Transport/limitPrefetch(to:of:)`` changes it later.
    public var prefetchLimit: Int
    /// How many bytes the unsettled messages may take up together, as ``TransportMessage/byteCount`` measures them. A
    /// single larger message is delivered when nothing else is unsettled. Must be positive.
    public var prefetchByteLimit: Int

    private var exactDurableName: ExactText?
    private var exactGroup: ExactText?

    /// Creates a subscription.
    public init(
        to pattern: ChannelPattern,
        durableName: String? = nil,
        group: String? = nil,
        start: ReplayStart? = nil,
        prefetchLimit: Int = 256,
        prefetchByteLimit: Int = 64 << 20
    ) {
        self.pattern = pattern
        exactDurableName = durableName.map { ExactText($0) }
        exactGroup = group.map { ExactText($0) }
        self.start = start
        self.prefetchLimit = prefetchLimit
        self.prefetchByteLimit = prefetchByteLimit
    }
}
