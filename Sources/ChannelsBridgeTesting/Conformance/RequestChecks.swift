internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Requests and replies.
    static let requestChecks: [Check] = [
        check("aRequestGetsItsReply", needs: .requests) { run in
            let responder = try await run.connected()
            try await responder.respond(to: run.subject("echo")) { request in
                var headers = TransportHeaders()
                if let id = request.message.headers["ce-id"] { try? headers.set(id, for: "ce-id") }
                request.reply(TransportReply(headers: headers, body: request.message.body.reversed()))
            }
            let asker = try await run.connected()
            let replies = try await withThrowingTaskGroup(of: (Int, TransportReply).self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let headers: TransportHeaders = ["ce-id": "\(number)"]
                        let message = try TransportMessage(
                            subject: run.subject("echo"),
                            headers: headers,
                            body: [1, UInt8(number)]
                        )
                        return (number, try await asker.request(message, timeout: run.timeout))
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (number, reply) in replies {
                run.expect(reply.body == [UInt8(number), 1], "request \(number) got \(reply.body)")
                run.expect(
                    reply.headers["ce-id"] == "\(number)",
                    "request \(number) got \(reply.headers["ce-id"] ?? "no header")"
                )
            }
            run.expect(replies.count == 50, "\(replies.count) of 50 replies")
        },
        check("aRequestWithoutTimeIsNotSent", needs: .requests) { run in
            let transport = try await run.connected()
            let asked = Recorder<String>()
            try await transport.respond(to: run.subject("echo")) { request in
                asked.record(request.message.text)
                request.reply(TransportReply(body: request.message.body))
            }
            for timeout in [Duration.zero, .seconds(-1)] {
                await run.expectError([.timedOut], "a request with the timeout \(timeout)") {
                    _ = try await transport.request(try run.message("echo", "too late"), timeout: timeout)
                }
            }
            // Longer than any clock can express.
            let reply = try await transport.request(try run.message("echo", "end"), timeout: .seconds(Int64.max))
            run.expect(reply.text == "end" && asked.all == ["end"], "\(asked.all) were asked")
        },
        check("aReplyMayComeLaterFromAnotherTask", needs: .requests) { run in
            let responder = try await run.connected()
            let waiting = Recorder<InboundRequest>()
            try await responder.respond(to: run.subject("slow")) { waiting.record($0) }
            let asker = try await run.connected()
            async let reply = asker.request(try run.message("slow", "when?"), timeout: run.timeout)
            let requests = await waiting.first(1)
            requests.first?.reply(TransportReply(body: Array("now".utf8)))
            let text = try await reply.text
            run.expect(text == "now", "the reply is \(text)")
        },
        check("aRequestNobodyRespondsToThrows", needs: .requests) { run in
            let asker = try await run.connected()
            await run.expectError([.noResponder, .timedOut], "a request to nobody") {
                _ = try await asker.request(try run.message("nobody", "?"), timeout: .milliseconds(200))
            }
        },
        check("aRequestWithoutAReplyTimesOut", needs: .requests) { run in
            let responder = try await run.connected()
            let taken = Recorder<InboundRequest>()
            try await responder.respond(to: run.subject("mute")) { taken.record($0) }
            let asker = try await run.connected()
            await run.expectError([.timedOut], "a request without a reply") {
                _ = try await asker.request(try run.message("mute", "?"), timeout: .milliseconds(100))
            }
        },
        check("aCancelledRequestEnds", needs: .requests) { run in
            let responder = try await run.connected()
            let taken = Recorder<InboundRequest>()
            try await responder.respond(to: run.subject("mute")) { taken.record($0) }
            let asker = try await run.connected()
            let task = Task { try await asker.request(try run.message("mute", "?"), timeout: .seconds(600)) }
            _ = await taken.first(1)
            task.cancel()
            do {
                _ = try await task.value
                run.fail("a cancelled request returned a reply")
            } catch {
                run.expect(error is CancellationError, "a cancelled request threw \(error), not CancellationError")
            }
        },
        check("closingEndsARequestUnderWay", needs: .requests) { run in
            let responder = try await run.connected()
            let taken = Recorder<InboundRequest>()
            try await responder.respond(to: run.subject("mute")) { taken.record($0) }
            let asker = try await run.connected()
            let task = Task { try await asker.request(try run.message("mute", "?"), timeout: .seconds(600)) }
            _ = await taken.first(1)
            try await asker.close(timeout: run.timeout)
            await run.expectError([.closed, .notConnected], "a request whose transport is closed") {
                _ = try await task.value
            }
        },
        check("oneOfSeveralRespondersGetsEachRequest", needs: .requests) { run in
            let taken = Recorder<String>()
            for index in 0..<3 {
                try await run.connected().respond(to: run.subject("shared")) { request in
                    taken.record(request.message.text)
                    request.reply(TransportReply(body: [UInt8(index)]))
                }
            }
            let asker = try await run.connected()
            for text in numbered(30) {
                _ = try await asker.request(try run.message("shared", text), timeout: run.timeout)
            }
            run.expect(taken.all == numbered(30), "30 requests were taken \(taken.count) times")
        },
        check("whoDrainsItsSubscriptionsHasTakenEachRequestItWasGiven", needs: .requests) { run in
            @Sendable func respond(_ transport: any Transport) async throws {
                try await transport.respond(to: run.subject("shared")) { $0.reply(TransportReply(body: [1])) }
            }
            try await respond(try await run.connected())
            let asker = try await run.connected()
            for _ in 0..<5 {
                let leaver = try await run.connected()
                try await respond(leaver)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for text in numbered(100) {
                        group.addTask {
                            _ = try await asker.request(try run.message("shared", text), timeout: run.timeout)
                        }
                    }
                    try await group.next()
                    await leaver.drainSubscriptions(timeout: run.timeout)
                    try await leaver.close(timeout: run.timeout)
                    try await group.waitForAll()
                }
            }
        },
    ]
}
