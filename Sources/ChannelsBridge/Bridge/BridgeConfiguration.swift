internal import Channels

/// The codec, limits, timeouts and delays of a bridge.
///
/// Limits must be positive and names valid; otherwise `Bridge.init` traps.
public struct BridgeConfiguration: Sendable {
    /// How much a bridge may hold, in messages and in bytes.
    public struct Buffer: Hashable, Sendable {
        /// The number of messages.
        public var messages: Int
        /// The total size in bytes of encoded messages, headers and duplicate-detection state. Messages that
        /// are not encoded yet, and what listeners allocate, do not count.
        ///
        /// Below 32 MiB, or 8 MiB × (durable incoming routes + 1), a durable route remembers fewer than
        /// 16,384 received messages. If more messages than it remembers fail in rotation, they never reach
        /// ``BridgeConfiguration/failureLimit``.
        public var bytes: Int

        /// Creates a buffer; by default for 131,072 messages and 256 MiB.
        public init(messages: Int = 131_072, bytes: Int = 256 << 20) {
            self.messages = messages
            self.bytes = bytes
        }
    }

    /// Encodes messages, unless a route has a codec of its own. All processes that exchange messages must use
    /// the same codec. JSON by default.
    public var codec: any Codec
    /// The prefix of subjects at the broker, such as an environment or a tenant: with `staging`, the channel
    /// `shop.sold` has the subject `staging.shop.sold`.
    ///
    /// Bridges with different prefixes do not receive each other's messages. It is one or more segments of a
    /// channel name, and empty by default.
    public var subjectPrefix: String
    /// The name under which the broker keeps dead letters of durable messages: with `dead`, letters of
    /// `shop.sold` are published durably on `dead.shop.sold`, after the ``subjectPrefix``.
    ///
    /// A message is terminated only once its letter is stored; until then it is delivered again, after the
    /// ``backoff``. ``DeadLetterBox`` republishes letters. The default is `dead`. If it is nil, dead letters
    /// are only passed to the bridge's handler, and are lost if there is none, as are those of messages that are not
    /// durable.
    public var deadLetters: String?
    /// How much all routes of the bridge may hold together: half for messages to be sent or acknowledged, half
    /// for messages queued for listeners, including lanes and mailboxes.
    ///
    /// One route may hold a quarter of its half. With three or more durable incoming routes, each of them
    /// gets an equal share, and all other incoming routes together get one more. A message that does not fit
    /// is dropped, counted and reported as a fault; durable incoming routes fetch no more than their share.
    public var buffer: Buffer
    /// How many unsettled messages of a durable name this process holds: those queued for their listeners,
    /// and those being handled. 256 by default.
    ///
    /// The others stay at the broker, where other processes of the name can take them: lower the limit for slow
    /// listeners, so that processes share the work evenly. A low limit costs throughput. Messages that have failed and
    /// wait to be delivered again do not count. A process begins with one message, and returns to one while its
    /// listeners only fail.
    public var prefetchLimit: Int
    /// How many durable messages of one outgoing route are published before the first is acknowledged. 1,024
    /// by default.
    ///
    /// With 1, order is preserved even if the broker loses single messages, as a cluster may while it elects
    /// a leader.
    public var unacknowledgedLimit: Int
    /// How often the listeners of a durable message may fail, in this process, before it becomes a dead
    /// letter.
    ///
    /// Only errors of listeners and the ``listenerTimeout`` count, not shutdowns, crashes or full buffers. 24
    /// by default; with the default ``backoff``, that many failures take about an hour.
    public var failureLimit: Int
    /// How often the broker may deliver a durable message before it becomes a dead letter without reaching
    /// listeners: a guard against messages that end the process every time. 100 by default; nil for no limit.
    ///
    /// It applies until the listeners of this process have finished with the message, or failed. A message that
    /// was delivered more than three times is delivered alone: those queued in this process come first, and no more are
    /// fetched. So if it ends the process again, only its own deliveries are counted, and not those of its neighbors.
    public var deliveryLimit: Int?
    /// How long the listeners of a durable message may take together before the message counts as failed and
    /// is delivered again.
    ///
    /// A running listener is not stopped. Messages queued behind it time out as well, although they still reach the
    /// listener if it returns, so choose a limit that only a hanging listener exceeds. Nil by default, for no limit.
    public var listenerTimeout: Duration?
    /// The delays before a failed message is delivered again, and between attempts to publish, where they
    /// never exceed five seconds. From 100 milliseconds to five minutes by default.
    public var backoff: Backoff
    /// How long to wait for the reply of another process to a request. Ten seconds by default. If the `timeout:` of
    /// `ask` is shorter, it applies.
    public var requestTimeout: Duration
    /// How many requests from other processes one route answers concurrently. 64 by default.
    public var concurrentRequestLimit: Int
    /// How long a bridge that ends may take to send queued messages and deliver received ones. Ten seconds by
    /// default. With zero, it does not wait.
    public var closeTimeout: Duration
    /// The clock that measures delays and timeouts. A test can pass one that it advances itself.
    public var clock: any Clock<Duration>

    /// Creates a configuration; every value has a default.
    public init(
        codec: any Codec = JSONCodec(),
        subjectPrefix: String = "",
        deadLetters: String? = "dead",
        buffer: Buffer = Buffer(),
        prefetchLimit: Int = 256,
        unacknowledgedLimit: Int = 1_024,
        failureLimit: Int = 24,
        deliveryLimit: Int? = 100,
        listenerTimeout: Duration? = nil,
        backoff: Backoff = Backoff(limit: .seconds(300)),
        requestTimeout: Duration = .seconds(10),
        concurrentRequestLimit: Int = 64,
        closeTimeout: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.codec = codec
        self.subjectPrefix = subjectPrefix
        self.deadLetters = deadLetters
        self.buffer = buffer
        self.prefetchLimit = prefetchLimit
        self.unacknowledgedLimit = unacknowledgedLimit
        self.failureLimit = failureLimit
        self.deliveryLimit = deliveryLimit
        self.listenerTimeout = listenerTimeout
        self.backoff = backoff
        self.requestTimeout = requestTimeout
        self.concurrentRequestLimit = concurrentRequestLimit
        self.closeTimeout = closeTimeout
        self.clock = clock
    }

    /// How many messages one route may hold in one direction.
    var routeLimit: Int { max(buffer.messages / 8, 1) }
    /// How many received messages one route remembers. It does not shrink with the buffer, because a message
    /// that is forgotten while it waits to be retried would never reach ``failureLimit``.
    var window: Int { max(routeLimit, 16_384) }
    /// How many bytes one route may hold in one direction.
    var routeByteLimit: Int { max(buffer.bytes / 8, 1) }
    /// The delay between attempts to publish. It stays short because a cluster does not announce that it has
    /// elected a leader, and one message every five seconds is no load for a broker.
    func pause(before attempt: Int) -> Duration { min(backoff.delay(before: attempt), .seconds(5)) }

    /// A fault is raised after each series of this many failed attempts to publish a durable message or store
    /// a state.
    static let attemptsPerFault = 8

    /// Traps if a limit or a time is not positive, or a name is not valid.
    func check() {
        let names = [("subjectPrefix", subjectPrefix.isEmpty ? nil : subjectPrefix), ("deadLetters", deadLetters)]
        for case (let property, let name?) in names {
            let isName = (try? ChannelName<Never>(validating: name)) != nil
            require(
                isName,
                "BridgeConfiguration.\(property) is \(quoted(name)); write a channel name, such as \"shop\""
            )
        }
        require(
            closeTimeout >= .zero,
            "BridgeConfiguration.closeTimeout is \(closeTimeout); it must not be negative: write .zero or more"
        )
        backoff.check()
        Settings.check(
            "BridgeConfiguration",
            limits: [
                ("buffer.messages", buffer.messages), ("buffer.bytes", buffer.bytes),
                ("prefetchLimit", prefetchLimit), ("unacknowledgedLimit", unacknowledgedLimit),
                ("failureLimit", failureLimit), ("deliveryLimit", deliveryLimit),
                ("concurrentRequestLimit", concurrentRequestLimit),
            ],
            times: [("listenerTimeout", listenerTimeout), ("requestTimeout", requestTimeout)]
        )
    }
}
