#if Tool
import ArgumentParser
import ChannelsBridge
import Foundation
import Synchronization

#if NATS
import ChannelsNATS
#endif
#if SQLite
import ChannelsSQLite
#endif

/// Which server to connect to and as whom, or which file to read and write. Without either, the program's own
/// transport.
struct ConnectionOptions: ParsableArguments {
    #if NATS || SQLite
    @Option(
        help: ArgumentHelp("The SQLite file to use instead of a server.", valueName: "path")
    )
    var file: String?
    #endif

    #if NATS
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The server, as nats://host:port or tls://host:port, or several of one cluster with commas. (default: $NATS_URL, then nats://127.0.0.1:4222)",
            valueName: "address"
        )
    )
    var server: String?

    @Option(help: "The user.")
    var user: String?

    @Option(help: "The password of the user. Other users of this machine can see it; $NATS_PASSWORD is better.")
    var password: String?

    @Option(help: "The token. Other users of this machine can see it; $NATS_TOKEN is better.")
    var token: String?

    @Option(
        name: [.long, .customLong("creds")],
        help: ArgumentHelp("The credentials file of the user.", valueName: "file")
    )
    var credentials: String?

    @Option(help: ArgumentHelp("The file with the seed of the user's nkey.", valueName: "file"))
    var nkey: String?

    @Option(help: ArgumentHelp("The certificates that may sign the server's, in PEM.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The certificate of this client, in PEM.", valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("The private key of that certificate, in PEM.", valueName: "file"))
    var key: String?

    @Option(
        name: .customLong("inbox-prefix"),
        help: ArgumentHelp("The prefix of reply subjects that the user may use.", valueName: "subject")
    )
    var inboxPrefix: String?

    #endif

    /// Connects to the server or with the program's own transport, or opens the file.
    ///
    /// - Parameter temporarily: Whether the server should forget the durable name under which the command
    ///   subscribes.
    /// - Throws: A failure with a description of one line.
    func connect(temporarily: Bool = false) async throws -> any Transport {
        #if NATS || SQLite
        if let file { return try await open(file) }
        #endif
        #if NATS
        if server != nil || ChannelsTool.makeTransport == nil { return try await connectToServer(temporarily) }
        #endif
        guard let makeTransport = ChannelsTool.makeTransport else {
            throw Failure("this build reaches no server: pass --file, which needs the trait SQLite, or enable NATS")
        }
        let transport = try await makeTransport()
        try await transport.connect(onEvent: Self.report)
        return transport
    }

    #if NATS || SQLite
    private func open(_ path: String) async throws -> any Transport {
        #if SQLite
        #if NATS
        guard server == nil else { throw Failure("pass either --file or --server") }
        #endif
        try Self.check(path)
        var configuration = SQLiteConfiguration(path: path)
        // It observes what others have set up, and sets up nothing.
        configuration.isObserver = true
        let transport = SQLiteTransport(configuration)
        try await transport.connect(onEvent: Self.report)
        return transport
        #else
        throw Failure("this build has no SQLite support; to read \(path), run: swift run --traits SQLite channels")
        #endif
    }

    /// Throws if the path leads to something other than a file. Opening a pipe, for example, would wait for a
    /// writer.
    private static func check(_ path: String) throws {
        guard !path.isEmpty else { throw Failure("--file is empty: pass the path of an SQLite file") }
        var status = stat()
        // If there is no file, opening it says so.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw Failure("\(path) is not a file")
    }
    #endif

    private static func report(_ event: TransportEvent) {
        switch event {
        case .failed(let error):
            hasFailed.store(true, ordering: .releasing)
            StandardStreams.report("\(error)")
        case .disconnected: StandardStreams.report("the connection is lost; trying to restore it")
        case .reconnected: StandardStreams.report("the connection is back; messages may have been missed")
        case .lastValuesLost: StandardStreams.report("the server has lost the states")
        case .slowConsumer(_, let dropped):
            StandardStreams.report("\(dropped) messages arrived faster than they were read, and were dropped")
        case .closed(let reason):
            StandardStreams.report("the connection has ended: \(reason.map { "\($0)" } ?? "no reason is given")")
            _exit(1)
        case .connected: break
        }
    }

    #if NATS
    private func connectToServer(_ temporarily: Bool) async throws -> any Transport {
        let addresses = (server ?? Self.variable("NATS_URL") ?? "nats://127.0.0.1:4222").split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        let servers = try addresses.map(ServerAddress.init)
        guard !servers.isEmpty else { throw Failure("no server is given; use nats://host:port") }
        var configuration = NATSConfiguration(servers: servers.map(\.text), name: "channels")
        configuration.authentication = try authentication()
        let tls = NATSConfiguration.TLS(
            trustedCertificates: ca ?? Self.variable("NATS_CA"),
            certificate: cert ?? Self.variable("NATS_CERT"),
            key: key ?? Self.variable("NATS_KEY")
        )
        if tls.trustedCertificates != nil || tls.certificate != nil || tls.key != nil { configuration.tls = tls }
        // It observes what others have set up, and sets up nothing.
        configuration.createsStreams = false
        if let inboxPrefix { configuration.inboxPrefix = inboxPrefix }
        configuration.deliveries.isTemporary = temporarily
        let transport = NATSTransport(configuration)
        do {
            try await transport.connect(onEvent: Self.report)
        } catch let error as BridgeError where error.code == .notConnected {
            throw servers.lazy.compactMap { $0.problem() }.first ?? error
        }
        return transport
    }

    /// The credentials from the command line, or else from the environment.
    private func authentication() throws -> NATSConfiguration.Authentication {
        if credentials != nil || nkey != nil || user != nil || token != nil {
            let given = [credentials != nil, nkey != nil, user != nil, token != nil].filter { $0 }.count
            guard given == 1 else { throw Failure("pass only one of --credentials, --nkey, --user and --token") }
            return try Self.authentication(credentials, nkey, user, password ?? Self.variable("NATS_PASSWORD"), token)
        }
        return try Self.authentication(
            Self.variable("NATS_CREDS"),
            Self.variable("NATS_NKEY"),
            Self.variable("NATS_USER"),
            password ?? Self.variable("NATS_PASSWORD"),
            Self.variable("NATS_TOKEN")
        )
    }

    private static func authentication(
        _ credentials: String?,
        _ nkey: String?,
        _ user: String?,
        _ password: String?,
        _ token: String?
    ) throws -> NATSConfiguration.Authentication {
        if let credentials { return .credentials(file: credentials) }
        if let nkey { return .nkey(publicKey: try NkeySeed(file: nkey).publicKey, seedFile: nkey) }
        if let user { return .password(user: user, password: password ?? "") }
        if let token { return .token(token) }
        return .none
    }

    /// A variable of the environment; nil if it is not set or empty.
    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
    #endif
}

extension Transport {
    /// Whether this is a connection to a server of NATS.
    var isServer: Bool {
        #if NATS
        self is NATSTransport
        #else
        false
        #endif
    }
}
#endif
