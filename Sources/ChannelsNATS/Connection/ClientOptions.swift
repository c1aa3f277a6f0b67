#if NATS
import ChannelsBridge
import CNATS
import Foundation

/// The options of the C client for a configuration.
final class ClientOptions {
    let pointer: OpaquePointer

    /// - Parameter discovered: The addresses that servers have announced.
    init(_ configuration: NATSConfiguration, discovered: [String], registration: UInt) throws {
        var created: OpaquePointer?
        let status = natsOptions_Create(&created)
        guard status == NATS_OK, let created else { throw BridgeError(status, doing: "creating options") }
        pointer = created
        try setServers(configuration, discovered)
        try setAuthentication(configuration.authentication)
        try setTLS(configuration)
        try setTimes(configuration)
        let closure = UnsafeMutableRawPointer(bitPattern: registration)
        try set("callbacks", natsOptions_SetClosedCB(pointer, connectionClosed, closure))
        try set("callbacks", natsOptions_SetErrorHandler(pointer, connectionFailed, closure))
    }

    deinit { natsOptions_Destroy(pointer) }

    private func setServers(_ configuration: NATSConfiguration, _ discovered: [String]) throws {
        guard !configuration.servers.isEmpty else {
            throw Self.unusable("NATSConfiguration.servers is empty; write nats://host:port")
        }
        for server in configuration.servers {
            let isPlain = server.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"\"\\".utf8.contains($0) }
            guard isPlain, !server.isEmpty, Self.hasValidPort(server) else {
                throw Self.unusable("'\(server.singleLine)' is not the address of a server; write nats://host:port")
            }
        }
        var servers = (configuration.servers + discovered.filter { !configuration.servers.contains($0) }).map {
            UnsafePointer(strdup($0))
        }
        defer { for server in servers { free(UnsafeMutablePointer(mutating: server)) } }
        let status = natsOptions_SetServers(pointer, &servers, Int32(servers.count))
        guard status == NATS_OK else {
            let reason = String(cString: natsStatus_GetText(status))
            throw Self.unusable("\(configuration.serverList) cannot be the addresses of servers: \(reason)")
        }
        if let name = configuration.name { try set("name", natsOptions_SetName(pointer, escaped(name))) }
    }

    /// Whether an address has a valid port or none. The C client would use the last 16 bits of any number.
    private static func hasValidPort(_ server: String) -> Bool {
        let address = server.split(separator: "/").last { !$0.isEmpty } ?? ""
        let host = address.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        // An IPv6 address has its colons in brackets.
        let rest = host.split(separator: "]", omittingEmptySubsequences: false).last ?? ""
        guard let colon = rest.lastIndex(of: ":") else { return true }
        return UInt16(rest[rest.index(after: colon)...]).map { $0 > 0 } ?? false
    }

    private func setAuthentication(_ authentication: NATSConfiguration.Authentication) throws {
        switch authentication {
        case .none: break
        case .password(let user, let password):
            try set("user", natsOptions_SetUserInfo(pointer, escaped(user), escaped(password)))
        case .token(let token): try set("token", natsOptions_SetToken(pointer, escaped(token)))
        case .nkey(let publicKey, let seedFile):
            try Self.checkReadable(seedFile)
            try set("nkey", natsOptions_SetNKeyFromSeed(pointer, escaped(publicKey), seedFile))
        case .credentials(let file):
            try Self.checkReadable(file)
            try set("credentials", natsOptions_SetUserCredentialsFromFiles(pointer, file, nil))
        }
    }

    private func setTLS(_ configuration: NATSConfiguration) throws {
        guard configuration.usesTLS else { return }
        let tls = configuration.tls ?? .init()
        try set("TLS", natsOptions_SetSecure(pointer, true))
        if let file = tls.trustedCertificates {
            try Self.checkReadable(file)
            try set("trusted certificates \(file)", natsOptions_LoadCATrustedCertificates(pointer, file))
        }
        if (tls.certificate == nil) != (tls.key == nil) {
            let given = tls.certificate.map { "certificate \($0.singleLine) is given without its key" }
            let detail = given ?? "key \(tls.key!.singleLine) is given without its certificate"
            throw Self.unusable("the client's \(detail)")
        }
        if let certificate = tls.certificate, let key = tls.key {
            try Self.checkReadable(certificate)
            try Self.checkReadable(key)
            try set("certificate \(certificate)", natsOptions_LoadCertificatesChain(pointer, certificate, key))
        }
        // Without an expected name, the C client would accept a trusted certificate of any other host.
        if let host = tls.expectedHostname ?? configuration.firstHost {
            try set("expected host name", natsOptions_SetExpectedHostname(pointer, host))
        }
    }

    private func setTimes(_ configuration: NATSConfiguration) throws {
        try set("connect timeout", natsOptions_SetTimeout(pointer, configuration.connectTimeout.milliseconds))
        // `NATSConnection` replaces a lost connection by itself.
        try set("reconnect", natsOptions_SetAllowReconnect(pointer, false))
        try set("ping interval", natsOptions_SetPingInterval(pointer, configuration.pingInterval.milliseconds))
        try set("ping interval", natsOptions_SetMaxPingsOut(pointer, 2))
        // With a deadline, the C client closes the socket after a write has timed out, and never continues in
        // the middle of a message.
        try set("write deadline", natsOptions_SetWriteDeadline(pointer, configuration.writeTimeout.milliseconds))
    }

    /// Escapes a text for JSON. The C client writes it between quotation marks as it is, so that a quotation mark
    /// would end it, and what follows would be other members of the JSON.
    private func escaped(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode(text).dropFirst().dropLast(), as: UTF8.self)
    }

    private func set(_ what: String, _ status: natsStatus) throws {
        guard status != NATS_OK else { return }
        throw Self.unusable(BridgeError(status, doing: "setting \(what)").description)
    }

    private static func unusable(_ detail: String) -> BridgeError { BridgeError(.transportFailure, detail) }

    private static func checkReadable(_ file: String) throws {
        guard access(file, R_OK) == 0 else {
            throw unusable("'\(file.singleLine)' cannot be read: \(String(cString: strerror(errno)))")
        }
    }

    /// Creates the error of a failed attempt to connect.
    static func connectError(_ status: natsStatus, _ configuration: NATSConfiguration) -> BridgeError {
        let error = BridgeError(status, doing: "connecting to \(configuration.serverList)")
        // With TLS 1.3, a server verifies the client's certificate after the client considers the connection
        // established, and then closes it without an error message.
        guard status == NATS_PROTOCOL_ERROR, configuration.usesTLS, configuration.tls?.certificate == nil,
            error.description.contains("got ''")
        else { return error }
        let detail = "\(error.detail ?? ""): the server may want a certificate of the client"
        return BridgeError(.certificateRejected, detail)
    }
}

extension NATSConfiguration {
    /// The addresses for error messages, without the user and password that they may contain.
    var serverList: String {
        servers.map { server in
            guard let at = server.lastIndex(of: "@") else { return server.singleLine }
            let scheme = server.range(of: "://").map { server[..<$0.upperBound] } ?? ""
            return "\(scheme)\(server[server.index(after: at)...])".singleLine
        }.joined(separator: ", ")
    }

    var usesTLS: Bool { tls != nil || servers.contains { $0.hasPrefix("tls://") } }

    /// The host of the first server: `a.example.com` if it is `tls://user:password@a.example.com:4222`.
    var firstHost: String? {
        guard var rest = servers.first?[...] else { return nil }
        if let scheme = rest.range(of: "://") { rest = rest[scheme.upperBound...] }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        let isIPv6 = rest.first == "["
        let host = isIPv6 ? rest.dropFirst().prefix { $0 != "]" } : rest.prefix { $0 != ":" && $0 != "/" }
        return host.isEmpty ? nil : String(host)
    }
}
#endif
