#if Inspector
import Channels
import Testing

@testable import ChannelsInspector

/// What one visitor may take from the others, over HTTP.
@Suite(.hangLimit)
struct LimitTests {
    @Test func theLimitsAreThoseOfTheDocumentation() {
        let limits = ServerLimits()
        #expect(limits.streams == 32)
        #expect(limits.silence == .seconds(10))
        #expect(limits.body == 65_536)
    }

    @Test func oneMoreStreamThanThereMayBeIsRefusedUntilAnotherCloses() async throws {
        try await withInspector { served async throws in
            var streams: [Events] = []
            for _ in 0..<32 {
                let events = try await served.events()
                _ = try await events.next()
                streams.append(events)
            }
            #expect(try await served.response("GET /events").status == 503)
            #expect(try await served.response("GET /picture.json").status == 200)
            try await streams.removeLast().connection.close()
            // Closing is noticed when the connection says so, not at once.
            var status = 0
            while status != 200 {
                let events = try await served.events()
                status = Reply(events.head).status
                if status == 200 { streams.append(events) }
            }
            withExtendedLifetime(streams) {}
        }
    }

    @Test func aSilentConnectionIsClosed() async throws {
        var limits = ServerLimits()
        limits.silence = .milliseconds(100)
        try await withInspector(limits: limits) { served async throws in
            let connection = try await Connection(to: served.port)
            #expect(await connection.rest().isEmpty)
        }
    }

    /// However long they may be silent: a visitor comes in at once, and at the first attempt.
    @Test func halfOpenConnectionsDoNotKeepVisitorsOut() async throws {
        try await withInspector(limits: .patient) { served async throws in
            var halfOpen: [Connection] = []
            for number in 0..<200 {
                let connection = try await Connection(to: served.port)
                if number.isMultiple(of: 2) { try? await connection.send("GET / HTTP/1.1\r\nHost: 127.0.0.1") }
                halfOpen.append(connection)
            }
            for path in ["/", "/main.js", "/picture.json"] {
                #expect(try await served.response("GET \(path)").status == 200)
            }
            withExtendedLifetime(halfOpen) {}
        }
    }

    @Test func bodiesOverTheLimitAreRefusedWithAndWithoutTheirLength() async throws {
        try await withInspector { served async throws in
            let json = ["Content-Type": "application/json"]
            let most = String(repeating: " ", count: 65_534) + "{}"
            #expect(try await served.response("POST /tracing?mode=on", json, body: most).status == 204)
            #expect(try await served.response("POST /tracing?mode=on", json, body: most + " ").status == 413)
            let declared = json.merging(["Content-Length": "70000"]) { $1 }
            #expect(try await served.response("POST /tracing?mode=on", declared).status == 413)
            #expect(try await served.response("GET /", ["Content-Length": "70000"]).status == 413)
            let chunked = json.merging(["Transfer-Encoding": "chunked"]) { $1 }
            let connection = try await Connection(to: served.port)
            try await connection.send(served.request("POST /tracing?mode=on", chunked))
            try await connection.send("11170\r\n\(String(repeating: " ", count: 70_000))\r\n")
            #expect(Reply(await connection.rest()).status == 413)
        }
    }

    @Test func aBodyWithoutEndIsCutOff() async throws {
        try await withInspector { served async throws in
            let connection = try await Connection(to: served.port)
            try await connection.send(served.request("GET /", ["Transfer-Encoding": "chunked"]))
            let flood = Task {
                let chunk = "1000\r\n\(String(repeating: "x", count: 4_096))\r\n"
                while true { try await connection.send(chunk) }
            }
            #expect(await flood.result.isFailure)
        }
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// A process of its own, which a writer that nobody finishes would end.
    @Test func cancellingWhileConnectionsComeEndsThemAndNotTheProcess() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<50 {
                // The inspector is cancelled as soon as the last is connected, which is before it is accepted.
                let connections = try await withInspector { served async throws in
                    try await withThrowingTaskGroup(of: Connection.self) { group in
                        for _ in 0..<16 { group.addTask { try await Connection(to: served.port) } }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                }
                for connection in connections { _ = await connection.rest() }
            }
        }
    }
    #endif

    @Test func headersWithoutEndAreRefused() async throws {
        try await withInspector { served async throws in
            let reply = try await served.response("GET /", ["X": String(repeating: "x", count: 40_000)])
            #expect(reply.status == 400 || reply.status == 0)
        }
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
#endif
