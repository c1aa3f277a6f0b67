#if Inspector
import Channels
import Testing

@testable import ChannelsInspector

/// Who is answered, over HTTP.
@Suite(.hangLimit)
struct AccessTests {
    @Test func pageIsServedOnLoopbackAndItsAddressAnnounced() async throws {
        try await withInspector { served async throws in
            #expect(served.address == "http://127.0.0.1:\(served.port)/")
            let reply = try await served.response("GET /")
            #expect(reply.status == 200)
            #expect(reply.body.contains("<title>Channels</title>"))
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
    func namesOfTheLoopbackInterfaceAreAnswered(host: String) async throws {
        try await withInspector { served async throws in
            #expect(try await served.response("GET /picture.json", host: host).status == 200)
        }
    }

    /// DNS rebinding: the name of another site that has been given the address of this machine.
    @Test(arguments: ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.7", "0x7f.1"])
    func foreignHostsAreRefused(host: String) async throws {
        try await withInspector { served async throws in
            for line in ["GET /", "GET /events", "GET /picture.json", "GET /main.js", "GET /nothing"] {
                #expect(try await served.response(line, host: host).status == 421)
            }
        }
    }

    @Test func requestsWithoutHostAreRefused() async throws {
        try await withInspector { served async throws in
            #expect(try await served.response("GET /picture.json", host: nil).status == 421)
        }
    }

    /// As a proxy sends them.
    @Test func absoluteTargetsAreAnswered() async throws {
        try await withInspector { served async throws in
            for own in ["127.0.0.1:\(served.port)", "localhost", "[::1]:\(served.port)"] {
                #expect(try await served.response("GET http://\(own)/picture.json").status == 200)
            }
        }
    }

    @Test func requestsWithTwoHostsAreBad() async throws {
        try await withInspector { served async throws in
            for second in ["127.0.0.1:\(served.port)", "evil.example"] {
                #expect(try await served.response("GET /picture.json", ["Host": second]).status == 400)
            }
        }
    }

    @Test(arguments: ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost", "http://127.0.0.1"])
    func foreignOriginsAreRefused(origin: String) async throws {
        try await withInspector { served async throws in
            for line in ["GET /", "GET /events", "GET /picture.json", "POST /tracing?mode=on", "OPTIONS /"] {
                #expect(try await served.response(line, ["Origin": origin]).status == 403)
            }
            let own = try await served.response("GET /picture.json", ["Origin": "http://127.0.0.1:\(served.port)"])
            #expect(own.status == 200)
        }
    }

    /// An image or a script of another site has no `Origin`.
    @Test func whatAnotherSiteEmbedsIsRefusedAndALinkIsNot() async throws {
        try await withInspector { served async throws in
            for site in ["cross-site", "same-site"] {
                let embedded = ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"]
                let followed = ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"]
                let framed = ["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"]
                for path in ["/", "/events", "/picture.json"] {
                    #expect(try await served.response("GET \(path)", embedded).status == 403)
                    #expect(try await served.response("GET \(path)", framed).status == 403)
                }
                #expect(try await served.response("GET /", followed).status == 200)
                #expect(try await served.response("GET /picture.json", followed).status == 403)
            }
        }
    }

    @Test func noAnswerAllowsOtherSitesToReadIt() async throws {
        try await withInspector { served async throws in
            for line in ["GET /", "GET /picture.json", "OPTIONS /picture.json", "GET /nothing"] {
                let reply = try await served.response(line, ["Origin": "http://127.0.0.1:\(served.port)"])
                #expect(!reply.head.lowercased().contains("access-control-"))
            }
        }
    }

    @Test(arguments: ["GET /", "GET /main.js", "GET /picture.json", "GET /picture.mmd", "GET /nothing", "PUT /"])
    func everyAnswerForbidsWhatThePageDoesNotNeed(line: String) async throws {
        try await withInspector { served async throws in
            let reply = try await served.response(line)
            let policy = try #require(reply.field("Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"))
            #expect(!policy.contains("unsafe"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(reply.field("X-Content-Type-Options") == "nosniff")
            #expect(reply.field("Cross-Origin-Resource-Policy") == "same-origin")
            #expect(reply.field("Referrer-Policy") == "no-referrer")
            #expect(reply.field("Cache-Control") == "no-store")
        }
    }

    @Test func anInterfaceOtherThanLoopbackNeedsTheToken() async throws {
        try await withInspector(host: "0.0.0.0") { served async throws in
            let token = try #require(served.address.split(separator: "=").last.map { String($0) })
            #expect(token.count == 40)
            for line in [
                "GET /", "GET /events", "GET /picture.json", "GET /?token=", "GET /?token=\(token.dropLast())",
            ] {
                #expect(try await served.response(line).status == 401)
            }
            #expect(try await served.response("GET /picture.json", ["Authorization": "Bearer \(token)"]).status == 200)
            #expect(try await served.response("GET /picture.json", ["Authorization": "Bearer \(token)0"]).status == 401)
            let page = try await served.response("GET /?token=\(token)")
            #expect(page.status == 200)
            let cookie = try #require(page.field("Set-Cookie"))
            #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
            let kept = String(cookie.prefix { $0 != ";" })
            #expect(try await served.response("GET /picture.json", ["Cookie": "a=b; \(kept)"]).status == 200)
            #expect(try await served.response("GET /picture.json", ["Cookie": "x\(kept)"]).status == 401)
            // Addresses are nobody's name; names are.
            #expect(try await served.response("GET /?token=\(token)", host: "10.1.2.3").status == 200)
            #expect(try await served.response("GET /?token=\(token)", host: "evil.example").status == 421)
        }
    }

    @Test func aTokenMayBeAskedForOnLoopbackToo() async throws {
        try await withInspector(token: "secret") { served async throws in
            #expect(served.address.hasSuffix("/?token=secret"))
            #expect(try await served.response("GET /").status == 401)
            #expect(try await served.response("GET /?token=secret").status == 200)
        }
    }

    @Test func tokensMadeUpDiffer() { #expect(Token.random() != Token.random()) }

    @Test(arguments: [
        ("a:7411", "a"), ("A", "a"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("127.0.0.1:", "127.0.0.1"), ("::1", nil),
        ("a:b", nil), ("a:1:2", nil), ("", nil), (":80", nil), ("[::1", nil), ("[a]", nil), ("a:99999", nil),
    ])
    func hostsAreReadFromAuthorities(authority: String, host: String?) {
        #expect(Host.name(inAuthority: authority) == host)
    }
}
#endif
