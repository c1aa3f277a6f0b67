#if NATS
internal import Channels
internal import ChannelsBridge

/// The servers, credentials, limits and timeouts of a ``NATSTransport``.
///
/// ```swift
/// var configuration = NATSConfiguration(servers: ["tls://a.example.com:4222", "tls://b.example.com:4222"])
/// configuration.authentication = .credentials(file: "/run/secrets/shop.creds")
/// configuration.tls = .init(trustedCertificates: "/etc/ssl/shop-ca.pem")
/// ```
public struct NATSConfiguration: Sendable {
    /// How a client authenticates.
    public enum Authentication: Sendable {
        /// The client has no credentials.
        case none
        /// A user and a password, sent in plain text: use TLS.
        case password(user: String, password: String)
        /// A token, sent in plain text: use TLS.
        case token(String)
        /// The public nkey of a user, and the file with its seed, which is not sent.
        case nkey(publicKey: String, seedFile: String)
        /// A credentials file as `nsc` writes it: a JWT and a seed. The seed is not sent.
        case credentials(file: String)

        /// Whether the client signs the server's challenge.
        var isSigned: Bool {
            switch self {
            case .nkey, .credentials: true
            case .none, .password, .token: false
            }
        }
    }

    /// How the connection is encrypted.
    public struct TLS: Sendable {
        /// The file with the trusted certificate authorities, in PEM; nil for the system's.
        public var trustedCertificates: String?
        /// The file with the client's certificate, in PEM, if the server requires one.
        public var certificate: String?
        /// The file with the private key of the client's certificate, in PEM.
        public var key: String?
        /// The name that the server's certificate must have; nil for the host of the first server.
        public var expectedHostname: String?

        /// Creates settings for TLS.
        public init(
            trustedCertificates: String? = nil,
            certificate: String? = nil,
            key: String? = nil,
            expectedHostname: String? = nil
        ) {
            self.trustedCertificates = trustedCertificates
            self.certificate = certificate
            self.key = key
            self.expectedHostname = expectedHostname
        }
    }

    /// The addresses of the servers of one cluster, as `nats://host:port` or `tls://host:port`. Servers that
    /// these announce are used as well.
    public var servers: [String]
    /// The name of this connection, for the server's monitoring.
    public var name: String?
    /// How the client authenticates. ``Authentication/none`` by default.
    public var authentication: Authentication = .none
    /// How the connection is encrypted. If this is nil, the connection uses TLS with default settings if an
    /// address begins with `tls://`, and is not encrypted otherwise.
    public var tls: TLS?
    /// The streams that store durable messages. Missing ones are created when they are first needed.
    public var streams: [NATSStream] = []
    /// How durable messages are delivered.
    public var deliveries = Deliveries()
    /// The bucket of the key-value store that stores states. It is created if it is missing.
    public var stateBucket = "channels"
    /// How many servers of the cluster store each message and each state: 1, 3 or 5. A message or state is
    /// acknowledged once more than half of them have stored it.
    public var replicas = 1
    /// The prefix of the subjects for replies and deliveries. `_INBOX` by default. Give each NATS user a
    /// prefix of its own: a user that may subscribe to `_INBOX.>` receives everybody's replies.
    public var inboxPrefix = "_INBOX"
    /// Whether missing streams and the missing bucket are created. False for a tool that only observes.
    package var createsStreams = true

    // Only tests change the settings from here to `incomingByteLimit`.

    /// The timeout for connecting to one server.
    package var connectTimeout: Duration = .seconds(2)
    /// The delay before reconnecting after an attempt to reach any server has failed, or after a connection
    /// that lasted less than four times this long. A random delay of up to the same duration is added. After
    /// a longer connection, the delay is random, up to a quarter of this.
    package var reconnectWait: Duration = .milliseconds(250)
    /// The interval of pings to the server. The connection counts as broken after two unanswered pings.
    package var pingInterval: Duration = .seconds(5)
    /// How long a write to the socket may block before the connection counts as broken. It is longer than ten seconds,
    /// because a server may keep publishers waiting that long for a subscriber that does not read, before it ends the
    /// subscriber's connection.
    package var writeTimeout: Duration = .seconds(15)
    /// The timeout for requests to JetStream.
    package var requestTimeout: Duration = .seconds(5)
    /// How long `publish` and `store` keep sending a durable message or a state that is not acknowledged.
    package var acknowledgementTimeout: Duration = .seconds(10)
    /// How long to wait for an acknowledgement before a durable message is sent again with the same
    /// identifier.
    package var retryInterval: Duration = .seconds(2)
    /// How many bytes may wait to be sent.
    package var outgoingByteLimit = 8 * 1024 * 1024
    /// How many messages of one subscription may wait for their handler.
    package var incomingLimit = 65_536
    /// How many bytes of messages of one subscription may wait for their handler.
    package var incomingByteLimit = 128 << 20

    /// How durable messages are delivered to a durable name.
    ///
    /// An existing name keeps its settings; differences are reported as `TransportEvent.failed` with the code
    /// `settingsDiffer`. With settings that would lose messages, the run of a bridge ends.
    public struct Deliveries: Sendable {
        /// How long the server waits for progress from a process before it redelivers that process's
        /// unsettled messages to another one with the same durable name. 8 seconds by default.
        ///
        /// Listeners may take longer: a running process reports progress three times in that period.
        public var acknowledgementWait: Duration = .seconds(8)
        /// How many delivered messages may be unsettled at a time, for all processes of one name together.
        /// Messages that have failed and wait for their next delivery count as well. A limit of 1 preserves
        /// order across failures.
        ///
        /// At the limit, nothing new is delivered: if that many messages fail, they hold up all others. The default is
        /// 16,384, the number of messages for which a route counts failures. `BridgeConfiguration.prefetchLimit` limits
        /// what one process holds.
        public var pendingLimit = 16_384
        /// Whether the server forgets the name when its subscriber ends or has been away for five minutes.
        package var isTemporary = false

        /// Creates the default settings.
        public init() {}
    }

    /// Creates a configuration for servers that need neither a password nor TLS.
    public init(servers: [String] = ["nats://127.0.0.1:4222"], name: String? = nil) {
        self.servers = servers
        self.name = name
    }

    /// Traps if there is no server, or a limit or a time is not positive.
    func check() {
        require(!servers.isEmpty, "NATSConfiguration.servers is empty; write \"nats://127.0.0.1:4222\"")
        Settings.check(
            "NATSConfiguration",
            limits: [("deliveries.pendingLimit", deliveries.pendingLimit), ("replicas", replicas)],
            times: [("deliveries.acknowledgementWait", deliveries.acknowledgementWait)]
        )
        for stream in streams {
            Settings.check(
                "NATSStream(\(quoted(stream.name)))",
                limits: [
                    ("limits.messages", stream.limits.messages), ("limits.bytes", stream.limits.bytes),
                ],
                times: [("limits.age", stream.limits.age), ("duplicateWindow", stream.duplicateWindow)]
            )
        }
    }
}

extension Duration {
    /// Whole milliseconds, at least one, for the C client.
    var milliseconds: Int64 { max(1, whole(ofSecond: 1_000)) }

    /// Whole nanoseconds, for the JSON of JetStream.
    var nanoseconds: Int64 { whole(ofSecond: 1_000_000_000) }

    private func whole(ofSecond parts: Int64) -> Int64 {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: parts)
        return whole.overflow ? .max : whole.partialValue &+ attoseconds / (1_000_000_000_000_000_000 / parts)
    }
}
#endif
