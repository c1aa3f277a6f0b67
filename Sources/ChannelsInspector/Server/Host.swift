#if Inspector
internal import NIOCore

/// The part of an address that names a machine.
enum Host {
    /// Whether only this machine can connect to it.
    static func isLoopback(_ host: String) -> Bool {
        guard let address = canonical(host) else { return host.lowercased() == "localhost" }
        return address.hasPrefix("127.") || address == "::1"
    }

    /// Whether it stands for every interface of the machine.
    static func isWildcard(_ host: String) -> Bool { ["0.0.0.0", "::"].contains(canonical(host)) }

    /// Whether it is an address, and not a name whose meaning a DNS server could change.
    static func isAddress(_ host: String) -> Bool { canonical(host) != nil }

    /// The host in `host:port` or `[host]:port`, where the port may be missing; nil for anything else.
    static func name(inAuthority authority: String) -> String? {
        // The name is in brackets if, and only if, it has a colon.
        let format = /(?:\[([^\]]*:[^\]]*)\]|([^:\[]+))(?::(\d*))?/
        guard let (_, bracketed, plain, port) = authority.wholeMatch(of: format)?.output else { return nil }
        if let port, !port.isEmpty, UInt16(port) == nil { return nil }
        return (bracketed ?? plain)?.lowercased()
    }

    /// The address of the page.
    static func address(_ host: String, port: Int, token: String?) -> String {
        let reachable = isWildcard(host) ? (host.contains(":") ? "::1" : "127.0.0.1") : host
        let authority = reachable.contains(":") ? "[\(reachable)]" : reachable
        return "http://\(authority):\(port)/" + (token.map { "?token=\($0)" } ?? "")
    }

    /// An IPv4 or IPv6 address in its canonical form; nil for anything else.
    private static func canonical(_ host: String) -> String? {
        (try? SocketAddress(ipAddress: host, port: 0))?.ipAddress
    }
}
#endif
