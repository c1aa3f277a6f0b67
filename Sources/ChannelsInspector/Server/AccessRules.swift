#if Inspector
internal import HTTPTypes

/// Decides which requests are answered.
///
/// A browser lets any site send requests to this machine. A site may also give its own name the address of
/// this machine ("DNS rebinding"), after which the browser takes the inspector for a part of that site.
/// Therefore the requested host name must be one that no site can have, and the requesting page must be one
/// of the inspector's own.
struct AccessRules: Sendable {
    /// Why a request is refused.
    struct Refusal: Error, Equatable {
        var status: HTTPResponse.Status
        var reason: String
    }

    private let names: Set<String>
    private let takesAnyAddress: Bool
    private let token: String?
    /// The name of the cookie that holds the token. It is random, because cookies are shared by all ports of
    /// a host.
    let cookie: String

    init(host: String, token: String?) {
        let host = host.lowercased()
        if Host.isLoopback(host) {
            names = ["localhost", "127.0.0.1", "::1", host]
        } else if Host.isWildcard(host) {
            names = ["localhost"]
        } else {
            names = [host]
        }
        takesAnyAddress = Host.isWildcard(host)
        self.token = token
        cookie = "channels-inspector-\(Token.random().prefix(8))"
    }

    /// Checks a request.
    ///
    /// - Throws: ``Refusal``.
    func check(_ request: HTTPRequest, path: some StringProtocol, presented: String?) throws(Refusal) {
        // The first `Host` line has become the authority.
        guard request.headerFields[values: .furtherHost].isEmpty else {
            throw Refusal(status: .badRequest, reason: "There is more than one line Host.")
        }
        guard let authority = request.authority, let host = Host.name(inAuthority: authority), isOwn(host) else {
            throw Refusal(
                status: .misdirectedRequest,
                reason: "The inspector does not answer to this host. Open the address it printed."
            )
        }
        let fields = request.headerFields
        if let origin = fields[.origin], origin != "http://\(authority)", origin != "https://\(authority)" {
            throw Refusal(status: .forbidden, reason: "Only the inspector's own page may ask for this.")
        }
        let site = fields[.secFetchSite] ?? "none"
        if site != "same-origin" && site != "none" {
            // From another site, only a link to the page may be followed.
            let isVisit = fields[.secFetchMode] == "navigate" && fields[.secFetchDestination] == "document"
            guard isVisit, request.method == .get, path == "/" else {
                throw Refusal(status: .forbidden, reason: "Only the inspector's own page may ask for this.")
            }
        }
        guard let token, !holds(token, fields, presented) else { return }
        throw Refusal(
            status: .unauthorized,
            reason: "This needs the token: open the address that the inspector printed, with ?token= and all."
        )
    }

    private func isOwn(_ host: String) -> Bool { names.contains(host) || (takesAnyAddress && Host.isAddress(host)) }

    private func holds(_ token: String, _ fields: HTTPFields, _ presented: String?) -> Bool {
        if let presented, Token.matches(presented, token) { return true }
        if let bearer = fields[.authorization], bearer.hasPrefix("Bearer "), Token.matches(bearer.dropFirst(7), token) {
            return true
        }
        let cookies = (fields[.cookie] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        return cookies.contains { $0.hasPrefix("\(cookie)=") && Token.matches($0.dropFirst(cookie.count + 1), token) }
    }
}

extension HTTPField.Name {
    // Each `!` is safe, because the text is a token as RFC 9110 defines it.
    fileprivate static let furtherHost = Self("Host")!
    fileprivate static let secFetchSite = Self("Sec-Fetch-Site")!
    fileprivate static let secFetchMode = Self("Sec-Fetch-Mode")!
    fileprivate static let secFetchDestination = Self("Sec-Fetch-Dest")!
}
#endif
