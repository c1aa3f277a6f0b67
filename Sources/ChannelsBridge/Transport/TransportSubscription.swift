public import Channels

/// What a transport is asked to subscribe to.
///
/// Without a durable name: the messages published from now on, durable or not, at most once; with a group, those
/// that do not go to another subscriber of it.
///
/// With one: at least once, the durable messages that have not been settled under this name and pattern. At their
/// first subscription, that is everything the broker has stored, unless ``start`` says otherwise. Processes that
/// subscribe with the same name and pattern form a queue group.
public struct TransportSubscription: Hashable, Sendable {
    /// A subject, or a pattern with `*` and `>`.
    public var pattern: ChannelPattern
    /// The name under which the broker keeps unsettled messages, for durable messages; nil for others.
    public var durableName: String? {
        get { exactDurableName?.text }
        set { exactDurableName = newValue.map { ExactText($0) } }
    }
    /// For messages that are not durable: of the subscribers of the same group, each message goes to one, also
    /// if their patterns differ. Nil: it goes to each of them.
    public var group: String? {
        get { exactGroup?.text }
        set { exactGroup = newValue.map { ExactText($0) } }
    }
    /// Where the durable name begins, if the broker does not know it; nil: where the transport is set to begin. That
    /// is ``ReplayStart/stored`` unless the configuration of the transport says otherwise.
    public var start: ReplayStart?
    /// How many messages of the durable name may be delivered to this transport and be unsettled. The
    /// transport fetches no more; the others wait at the broker.
    public var unsettledLimit: Int
    /// How many bytes they may have together: bodies and headers. A single larger message is delivered when
    /// nothing else is unsettled.
    public var unsettledByteLimit: Int

    private var exactDurableName: ExactText?
    private var exactGroup: ExactText?

    /// Creates a subscription.
    public init(
        to pattern: ChannelPattern,
        durableName: String? = nil,
        group: String? = nil,
        start: ReplayStart? = nil,
        unsettledLimit: Int = 1_024,
        unsettledByteLimit: Int = 64 << 20
    ) {
        self.pattern = pattern
        exactDurableName = durableName.map { ExactText($0) }
        exactGroup = group.map { ExactText($0) }
        self.start = start
        self.unsettledLimit = unsettledLimit
        self.unsettledByteLimit = unsettledByteLimit
    }
}
