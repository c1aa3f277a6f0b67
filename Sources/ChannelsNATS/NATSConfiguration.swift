#if NATS
import ChannelsBridge
/// Which servers to talk to, as whom, and what may wait how long.
///
/// ```swift
/// var configuration = NATSConfiguration(servers: ["tls://a.example.com:4222", "tls://b.example.com:4222"])
/// configuration.authentication = .credentials(file: "/run/secrets/shop.creds")
/// configuration.tls = .init(trustedCertificates: "/etc/ssl/shop-ca.pem")
/// ```
public struct NATSConfiguration: Sendable {
    /// How the server knows who this is.
    public enum Authentication: Sendable {
        /// Nothing is shown.
        case none
        /// A user and a password. They travel as they are: use TLS.
        case password(user: String, password: String)
        /// A token. It travels as it is: use TLS.
        case token(String)
        /// The public nkey of a user, and the file with its seed. The seed does not travel.
        case nkey(publicKey: String, seedFile: String)
        /// A credentials file as `nsc` writes it: a JWT and a seed. The seed does not travel.
        case credentials(file: String)
    }

    /// How the connection is encrypted.
    public struct TLS: Sendable {
        /// The file of the certificates that may sign the server's, in PEM; nil: those that the system
        /// trusts.
        public var trustedCertificates: String?
        /// The file of the client's own certificate, in PEM, where the server asks for one.
        public var certificate: String?
        /// The file of the key of the client's certificate, in PEM.
        public var key: String?
        /// The name that the server's certificate must have; nil: the host of the first server.
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

    /// The addresses of the servers of one cluster, as `nats://host:port` or `tls://host:port`. Those that a
    /// server tells of are tried, too.
    public var servers: [String]
    /// The name that the server shows for this connection.
    public var name: String?
    /// How the server knows who this is. ``Authentication/none`` by default.
    public var authentication: Authentication = .none
    /// How the connection is encrypted; nil: only where an address begins with `tls://`.
    public var tls: TLS?
    /// How long connecting to one server may take. Two seconds by default.
    public var connectTimeout: Duration = .seconds(2)
    /// How long to wait after all servers were tried in vain. A quarter of a second by default; up to as much
    /// again is added at random.
    public var reconnectWait: Duration = .milliseconds(250)
    /// How often the server is asked whether it is there; two answers that stay out end the connection. Ten
    /// seconds by default.
    public var pingInterval: Duration = .seconds(10)
    /// How long the operating system may refuse to take bytes before a write counts as failed. Five seconds
    /// by default.
    public var writeDeadline: Duration = .seconds(5)
    /// How long JetStream, and a request without a limit of its own, may take to answer. Five seconds by
    /// default.
    public var requestTimeout: Duration = .seconds(5)
    /// For how long a durable message, or a state, is sent again while no acknowledgement comes. Ten seconds
    /// by default.
    public var acknowledgementTimeout: Duration = .seconds(10)
    /// After how long without an acknowledgement a durable message is sent again, with the same identifier.
    /// Two seconds by default.
    public var retryInterval: Duration = .seconds(2)
    /// How many bytes may wait to be sent. 8 MiB by default. What comes then throws `bufferFull`.
    public var outgoingLimit = 8 * 1024 * 1024
    /// How many messages of one subscription may wait for their listeners. 65,536 by default; what comes then
    /// is dropped and counted.
    public var incomingLimit = 65_536

    /// Where durable messages are kept. They are created, where they are missing, when something durable is
    /// first done.
    public var streams: [NATSStream] = []
    /// How durable messages are delivered.
    public var deliveries = Deliveries()
    /// Where states are kept: a bucket of the key-value store of this name, created where it is missing.
    public var stateBucket = "channels"
    /// On how many servers of the cluster each state is kept: 1, 3 or 5.
    public var stateReplicas = 1
    /// Whether streams and the bucket are created where they are missing. Not by a tool that only looks.
    package var createsStreams = true

    /// How durable messages are delivered to this name of a subscription. What exists at the server is
    /// changed to this, as far as it can be.
    public struct Deliveries: Sendable {
        /// How long after a process was last heard of the messages it holds are delivered again, to another
        /// one of its name. 30 seconds by default. However long a listener takes, and however many messages
        /// wait before it: the process says three times in that time that it is at it.
        public var acknowledgementWait: Duration = .seconds(30)
        /// How often the server delivers a message that nobody settles. 20 by default; a bridge gives up
        /// sooner.
        public var maximum = 20
        /// How many messages may be on their way at a time, to all processes of one name. 256 by default; 1
        /// keeps the order across failures.
        public var inFlight = 256
        /// Whether a name that subscribes for the first time gets what was stored before. It does by default.
        public var includesStored = true

        /// Creates the default settings.
        public init() {}
    }

    /// Creates a configuration for servers that ask for neither a password nor TLS.
    public init(servers: [String] = ["nats://127.0.0.1:4222"], name: String? = nil) {
        self.servers = servers
        self.name = name
    }
}

extension Duration {
    /// Whole milliseconds, at least one, for the C client.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: 1_000)
        return whole.overflow ? .max : max(1, whole.partialValue &+ attoseconds / 1_000_000_000_000_000)
    }

    /// Whole nanoseconds, for the JSON of JetStream.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return whole.overflow ? .max : whole.partialValue &+ attoseconds / 1_000_000_000
    }
}
#endif
