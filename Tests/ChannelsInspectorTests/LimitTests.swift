#if Inspector
import Channels
import Testing

@testable import ChannelsInspector

/// What one visitor may take from the others, over HTTP.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
    /// Long enough for what is to be said before, on machines that do other things at the same time.
    private var short: ServerLimits {
        var limits = ServerLimits()
        limits.silence = .seconds(2)
        return limits
    }

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
        try await withInspector(limits: short) { served async throws in
            let connection = try await Connection(to: served.port)
            #expect(await connection.rest().isEmpty)
        }
    }

    @Test func silentConnectionsDoNotKeepVisitorsOut() async throws {
        var limits = ServerLimits()
        limits.connections = 8
        limits.silence = .seconds(3_600)
        try await withInspector(limits: limits) { served async throws in
            var silent: [Connection] = []
            for _ in 0..<12 { silent.append(try await Connection(to: served.port)) }
            #expect(try await served.response("GET /icon.svg").status == 200)
            withExtendedLifetime(silent) {}
        }
    }

    @Test(arguments: [
        "GET / HT", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        "POST /tracing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ])
    func aRequestThatIsNotFinishedInTimeIsClosedHoweverOftenAByteComes(beginning: String) async throws {
        try await withInspector(limits: short) { served async throws in
            let connection = try await Connection(to: served.port)
            try await connection.send(beginning)
            let dripping = Task {
                while !Task.isCancelled {
                    try await connection.send("x")
                    // Nothing is waited for: it is how slow the client is.
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            // Ends only because the connection is closed: a byte came all the time.
            #expect(await dripping.result.isFailure)
        }
    }

    @Test func aConnectionThatIsKeptAliveIsClosedWhenNoRequestFollows() async throws {
        try await withInspector(limits: short) { served async throws in
            let connection = try await Connection(to: served.port)
            for _ in 0..<2 {
                try await connection.send("GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                #expect(await connection.text(upTo: "</svg>") != nil)
            }
            #expect(await connection.rest().trimmingPrefix(while: \.isWhitespace).isEmpty)
        }
    }

    @Test func aStreamThatIsReadStaysOpenLongerThanASilentConnection() async throws {
        try await withInspector(limits: short) { served async throws in
            let events = try await served.events()
            let silent = try await Connection(to: served.port)
            _ = await silent.rest()
            let another = try await Connection(to: served.port)
            _ = await another.rest()
            _ = try await events.first { ($0["version"] as? Int ?? 0) >= 3 }
        }
    }

    /// A page that reads nothing must not be kept for ever, nor what it does not read.
    @Test func aStreamThatTakesNothingIsClosed() async throws {
        let board = Switchboard()
        let filling = String(repeating: "x", count: 1_000)
        let channels = try (0..<8_000).map { try board[ChannelName<Int>(validating: "\(filling).\($0)")] }
        let tokens = channels.map { $0.listen { _ in } }
        try await withInspector(board, limits: short) { served async throws in
            let connection = try await Connection(to: served.port, taking: 1_000)
            try await connection.send("GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            #expect(await connection.text(upTo: "data: ") != nil)
            // The clock of this test: closed for the same reason, after the same time, one after the other.
            for _ in 0..<3 {
                let silent = try await Connection(to: served.port)
                _ = await silent.rest()
            }
            try await connection.takeAll()
            // It was closed in the midst of the first picture.
            #expect(await !connection.rest().contains("\n\n"))
        }
        withExtendedLifetime(tokens) {}
    }

    @Test func bodiesOverTheLimitAreRefusedWhetherTheySayTheirLengthOrNot() async throws {
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
