#if NATS
import Channels
import ChannelsBridge
import ChannelsNATS
import ChannelsTesting
import Foundation
import Testing

/// What names may not do, and who may do what.
@Suite(.fewServers, .hangLimit)
struct SecurityTests {
    /// What would end a line of the protocol, or be more than one token, or a pattern where a name is meant.
    static let injections = [
        "x 0\r\n\r\nPUB admin", "x\r\nPUB admin 2\r\nhi", "x\nSUB > 1", "x\ty", " x", "x ", "x..y", ".x", "x.", "",
        "x.*", ">", "x\u{0}y", "x\u{7F}",
        "x\u{85}y", "x\u{2028}y", String(repeating: "x", count: 1_025),
    ]

    @Test(arguments: injections)
    func nameThatCarriesACommandIsRefused(_ name: String) async throws {
        #expect(throws: BridgeError.self) { try TransportMessage(subject: name, body: []) }
    }

    /// Those that take a name as text.
    @Test func subjectThatCarriesACommandIsNotSent() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        let everything = try await peer.subscribe(to: ">")
        for name in ["x 0\r\n\r\nPUB admin", "x\r\nPUB admin 2\r\nhi", "x y", "", "x\u{0}y"] {
            let responding = await #expect(throws: BridgeError.self) {
                try await peer.transport.respond(to: name) { _ in }
            }
            #expect(responding?.code == .invalidName)
        }
        try await peer.publish("end", to: "end")
        let subjects = await everything.wait { $0.last?.message.subject == "end" }.map(\.message.subject)
        #expect(subjects.filter { !$0.hasPrefix("_INBOX") && !$0.hasPrefix("$JS") } == ["end"])
        try await peer.close()
    }

    @Test func headerThatCarriesACommandIsRefused() async throws {
        let server = try await NATSServer()
        let peer = try await Peer.connect(to: server)
        for (name, value) in [
            ("a", "b\r\nc: d"), ("a\r\nb", "c"), ("a:b", "c"), ("", "c"), ("a b", "c"), ("a", "b\nc"), ("ü", "c"),
            ("a", "b\u{0}"),
        ] {
            var headers = TransportHeaders()
            #expect(throws: BridgeError.self) { try headers.set(value, for: name) }
        }
        // A receiver would take the spaces off, and so get another value.
        for value in [" a", "a ", " "] {
            var headers = TransportHeaders()
            let error = #expect(throws: BridgeError.self) { try headers.set(value, for: "a") }
            #expect(error?.code == .invalidHeader)
        }
        try await peer.close()
    }

    private static let users = """
        authorization {
            users: [
                { user: "till", password: "right", permissions: {
                    publish: ["shop.>", "$JS.API.>", "_INBOX.>"], subscribe: ["shop.>", "_INBOX.>"] } }
            ]
        }
        """

    @Test func wrongPasswordSaysSoAndKeepsThePasswordToItself() async throws {
        let server = try await NATSServer(.init(configuration: Self.users))
        for password in ["wrong-secret", ""] {
            let error = await #expect(throws: BridgeError.self) {
                try await Peer.connect(to: server) { $0.authentication = .password(user: "till", password: password) }
            }
            #expect(error?.code == .authenticationFailed)
            #expect(error?.description.contains("wrong-secret") == false)
        }
        let inAddress = NATSTransport(NATSConfiguration(servers: ["nats://till:wrong-secret@127.0.0.1:\(server.port)"]))
        let error = await #expect(throws: BridgeError.self) { try await inAddress.connect { _ in } }
        #expect(error?.code == .authenticationFailed)
        #expect(error?.description.contains("wrong-secret") == false)
        let peer = try await Peer.connect(to: server) { $0.authentication = .password(user: "till", password: "right") }
        try await peer.close()
    }

    @Test func forbiddenSubjectIsRefusedInTimeOrReportedLater() async throws {
        let server = try await NATSServer(.init(configuration: Self.users))
        let peer = try await Peer.connect(to: server) {
            $0.authentication = .password(user: "till", password: "right")
            $0.streams = [NATSStream("BANK", subjects: ["bank.sale"])]
        }
        let subscribing = await #expect(throws: BridgeError.self) { try await peer.subscribe(to: "bank.>") }
        #expect(subscribing?.code == .permissionDenied)
        let responding = await #expect(throws: BridgeError.self) {
            try await peer.transport.respond(to: "bank.price") { _ in }
        }
        #expect(responding?.code == .permissionDenied)
        // At once, and not only when the time is up.
        let asking = await #expect(throws: BridgeError.self) {
            try await peer.transport.request(try message("?", to: "bank.price"), timeout: .patience)
        }
        #expect(asking?.code == .permissionDenied)
        let durable = await #expect(throws: BridgeError.self) {
            try await peer.publish("x", to: "bank.sale", durable: true)
        }
        #expect(durable?.code == .permissionDenied)
        // Nobody waits for an answer to this one.
        try await peer.publish("x", to: "bank.steal")
        await peer.events.wait {
            $0.contains { $0.failure?.code == .permissionDenied && $0.failure?.subject == "bank.steal" }
        }
        // And the rest goes on.
        let received = try await peer.subscribe(to: "shop.>")
        try await peer.publish("x", to: "shop.sale")
        await received.wait(count: 1)
        try await peer.close()
    }

    /// Otherwise a quotation mark would end the text, and the rest could be other members of the greeting.
    @Test func credentialsAndNamesAreSentAsTheyAre() async throws {
        let text = #"a"b\c","echo":false,"x":"ü"#
        let quoted = #""a\"b\\c\",\"echo\":false,\"x\":\"ü""#
        let options = ["user: \(quoted), password: \(quoted)", "token: \(quoted)"]
        for (index, option) in options.enumerated() {
            let server = try await NATSServer(.init(configuration: "authorization { \(option) }"))
            let peer = try await Peer.connect(to: server) {
                $0.authentication = index == 0 ? .password(user: text, password: text) : .token(text)
                $0.name = text
            }
            // Its own messages come back: the member was not injected.
            let received = try await peer.subscribe(to: "shop.sale")
            try await peer.publish("x", to: "shop.sale")
            #expect(await received.wait(count: 1).map(\.text) == ["x"])
            try await peer.close()
        }
        for address in [#"nats://a"b@127.0.0.1"#, #"nats://a\b@127.0.0.1"#] {
            let transport = NATSTransport(NATSConfiguration(servers: [address]))
            let error = await #expect(throws: BridgeError.self) { try await transport.connect { _ in } }
            #expect(error?.detail?.contains("is not the address of a server") == true)
        }
    }

    @Test func tokenAndNkeyAreAccepted() async throws {
        let withToken = try await NATSServer(.init(configuration: "authorization { token: \"s3cret\" }"))
        let peer = try await Peer.connect(to: withToken) { $0.authentication = .token("s3cret") }
        try await peer.close()
        await #expect(throws: BridgeError.self) {
            try await Peer.connect(to: withToken) { $0.authentication = .token("other") }
        }

        // The example in the documentation of NATS.
        let publicKey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
        let withNkey = try await NATSServer(
            .init(configuration: "authorization { users: [ { nkey: \"\(publicKey)\" } ] }")
        )
        let file = withNkey.folder.appending(path: "seed")
        try seed.write(to: file, atomically: true, encoding: .utf8)
        let signer = try await Peer.connect(to: withNkey) {
            $0.authentication = .nkey(publicKey: publicKey, seedFile: file.path)
        }
        try await signer.close()
        let unsigned = await #expect(throws: BridgeError.self) { try await Peer.connect(to: withNkey) }
        #expect(unsigned?.code == .authenticationFailed)
        let missing = await #expect(throws: BridgeError.self) {
            try await Peer.connect(to: withNkey) { $0.authentication = .credentials(file: "/nowhere/user.creds") }
        }
        #expect(missing?.description.contains("/nowhere/user.creds") == true)
    }

    @Test func credentialsFileIsAccepted() async throws {
        let server = try await NATSServer(.init(configuration: Credentials.serverConfiguration, jetStream: false))
        let file = server.folder.appending(path: "till.creds")
        try Credentials.file(seed: Credentials.seed).write(to: file, atomically: true, encoding: .utf8)
        let peer = try await Peer.connect(to: server) { $0.authentication = .credentials(file: file.path) }
        let received = try await peer.subscribe(to: "shop.>")
        try await peer.publish("x", to: "shop.sale")
        await received.wait(count: 1)
        let forbidden = await #expect(throws: BridgeError.self) { try await peer.subscribe(to: "bank.>") }
        #expect(forbidden?.code == .permissionDenied)
        try await peer.close()

        // The right token, signed for by somebody else.
        try Credentials.file(seed: Credentials.strangersSeed).write(to: file, atomically: true, encoding: .utf8)
        let stranger = await #expect(throws: BridgeError.self) {
            try await Peer.connect(to: server) { $0.authentication = .credentials(file: file.path) }
        }
        #expect(stranger?.code == .authenticationFailed)
        try "no credentials".write(to: file, atomically: true, encoding: .utf8)
        let nonsense = await #expect(throws: BridgeError.self) {
            try await Peer.connect(to: server) { $0.authentication = .credentials(file: file.path) }
        }
        #expect(nonsense?.description.contains(file.path) == true, "\(String(describing: nonsense))")
    }

    @Test func certificateOfTheClientIsShownWhereTheServerWantsOne() async throws {
        let certificates = try Certificates()
        let server = try await NATSServer(.init(configuration: certificates.verifyingConfiguration))
        func connect(_ tls: NATSConfiguration.TLS) async throws {
            var configuration = NATSConfiguration(servers: ["tls://localhost:\(server.port)"])
            configuration.tls = tls
            let transport = NATSTransport(configuration)
            try await transport.connect { _ in }
            try await transport.publish(try message("x", to: "x"), durable: false)
            try await transport.close(timeout: .patience)
        }
        try await connect(certificates.client)
        let without = await #expect(throws: BridgeError.self) {
            try await connect(.init(trustedCertificates: certificates.authority))
        }
        #expect(without?.code == .certificateRejected, "\(String(describing: without))")
        var mismatched = certificates.client
        mismatched.key = "\(certificates.folder.path)/stranger.key"
        let error = await #expect(throws: BridgeError.self) { try await connect(mismatched) }
        #expect(error?.description.contains("client.pem") == true, "\(String(describing: error))")
        var incomplete = certificates.client
        incomplete.key = nil
        let missing = await #expect(throws: BridgeError.self) { try await connect(incomplete) }
        #expect(missing?.description.contains("client.pem") == true, "\(String(describing: missing))")
    }

    @Test func certificateThatIsNotTrustedOrIsForAnotherHostIsRejected() async throws {
        let certificates = try Certificates()
        let server = try await NATSServer(.init(configuration: certificates.serverConfiguration))
        let address = "tls://localhost:\(server.port)"
        func connect(_ tls: NATSConfiguration.TLS?) async throws {
            var configuration = NATSConfiguration(servers: [address])
            configuration.tls = tls
            let transport = NATSTransport(configuration)
            try await transport.connect { _ in }
            try await transport.publish(try message("x", to: "x"), durable: false)
            try await transport.close(timeout: .patience)
        }
        try await connect(.init(trustedCertificates: certificates.authority))
        let rejecting: [NATSConfiguration.TLS?] = [
            nil, .init(trustedCertificates: certificates.stranger),
            .init(trustedCertificates: certificates.authority, expectedHostname: "bank.example"),
        ]
        for tls in rejecting {
            let error = await #expect(throws: BridgeError.self) { try await connect(tls) }
            #expect(error?.code == .certificateRejected)
        }
        // The address is that of another host than the certificate's.
        let other = NATSTransport(
            {
                var configuration = NATSConfiguration(servers: ["tls://127.0.0.1:\(server.port)"])
                configuration.tls = .init(trustedCertificates: certificates.authority)
                return configuration
            }()
        )
        let error = await #expect(throws: BridgeError.self) { try await other.connect { _ in } }
        #expect(error?.code == .certificateRejected)
    }

    @Test func serverAndClientAgreeOnTLSOrDoNotConnect() async throws {
        let certificates = try Certificates()
        let withTLS = try await NATSServer(.init(configuration: certificates.serverConfiguration))
        let plain = try await NATSServer()
        // A server that wants TLS gets it, and has to be trusted; one that has none is not spoken to where it
        // was asked for.
        for (address, code) in [
            ("nats://localhost:\(withTLS.port)", BridgeError.Code.certificateRejected),
            ("tls://127.0.0.1:\(plain.port)", .notConnected),
        ] {
            let transport = NATSTransport(NATSConfiguration(servers: [address]))
            let error = await #expect(throws: BridgeError.self) { try await transport.connect { _ in } }
            #expect(error?.code == code, "\(String(describing: error))")
        }
    }
}
#endif
