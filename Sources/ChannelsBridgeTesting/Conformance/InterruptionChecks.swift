internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Connections that break and are restored.
    static let interruptionChecks: [Check] = [
        check("aBrokenConnectionIsAnEventAndItsReturnAnother", requires: .interrupt) { run in
            let events = Recorder<String>()
            let transport = try await run.connected { event in
                switch event {
                case .connected: events.record("connected")
                case .disconnected: events.record("disconnected")
                case .reconnected: events.record("reconnected")
                case .slowConsumer, .failed, .closed, .lastValuesLost: break
                }
            }
            try await run.interrupt(transport) { await events.wait { $0.contains("disconnected") } }
            let all = await events.wait { $0.contains("reconnected") }
            run.expect(all.prefix(3) == ["connected", "disconnected", "reconnected"], "the events are \(all)")
        },
        check("subscriptionsGoOnAfterAnInterruption", requires: .interrupt) { run in
            let events = Recorder<String>()
            let transport = try await run.connected { if case .reconnected = $0 { events.record("reconnected") } }
            let heard = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { heard.record($0.message.text) }
            try await run.interrupt(transport) {}
            _ = await events.first(1)
            let sender = try await run.connected()
            try await run.publish(["after"], to: "a", on: sender)
            await heard.wait { $0.contains("after") }
        },
        check("durableMessagesOfAnInterruptionArriveAfterIt", needs: .durable, requires: .interrupt) { run in
            let receiver = try await run.connected()
            let sender = try await run.connected()
            let heard = Recorder<String>()
            try await receiver.subscribe(to: try run.pattern("a"), durableName: run.durableName("gap")) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            try await run.publish(["before"], to: "a", durable: true, on: sender)
            _ = await heard.first(1)
            try await run.interrupt(receiver) {}
            try await run.publish(["after"], to: "a", durable: true, on: sender)
            let texts = await heard.wait { Set($0).isSuperset(of: ["before", "after"]) }
            run.expect(texts.first == "before", "it got \(texts)")
        },
        check("whatIsSettledDuringAnInterruptionDoesNotHoldUpWhatFollows", needs: .durable, requires: .interrupt) {
            run in
            let receiver = try await run.connected()
            let sender = try await run.connected()
            let heard = Recorder<InboundMessage>()
            var subscription = TransportSubscription(to: try run.pattern("a"), durableName: run.durableName("gap"))
            subscription.prefetchLimit = 1
            try await receiver.subscribe(subscription) { message in
                if message.message.text != "first" || message.deliveryCount > 1 { message.settle?(.acknowledged) }
                heard.record(message)
            }
            try await run.publish(["first"], to: "a", durable: true, on: sender)
            let first = await heard.first(1)
            try await run.interrupt(receiver) { for message in first { message.settle?(.acknowledged) } }
            try await run.publish(["second"], to: "a", durable: true, on: sender)
            await heard.wait { $0.contains { $0.message.text == "second" } }
        },
        check("aWatcherHasTheLastValueAfterAnInterruption", needs: .lastValues, requires: .interrupt) { run in
            let watcher = try await run.connected()
            let storer = try await run.connected()
            let seen = Recorder<String>()
            try await watcher.watch(run.pattern("a")) { seen.record($0.message.text) }
            _ = try await storer.store(try run.message("a", "before"))
            _ = await seen.first(1)
            try await run.interrupt(watcher) {}
            _ = try await storer.store(try run.message("a", "after"))
            await seen.wait { $0.last == "after" }
        },
        check("aWatcherOfAPatternHasTheLastValuesAfterAnInterruption", needs: .lastValues, requires: .interrupt) {
            run in
            let watcher = try await run.connected()
            let storer = try await run.connected()
            let seen = Recorder<StoredValue>()
            _ = try await storer.store(try run.message("p.a", "a before"))
            _ = try await storer.store(try run.message("p.b", "b"))
            try await watcher.watch(run.pattern("p.*")) { seen.record($0) }
            try await run.interrupt(watcher) {}
            for (subject, text) in [("p.a", "a after"), ("p.c", "c")] {
                _ = try await storer.store(try run.message(subject, text))
            }
            let texts = ["a before", "b", "a after", "c"]
            let values = await seen.wait { Set($0.map { $0.message.text }).isSuperset(of: texts) }
            run.expect(
                values.map { $0.message.text }.sorted() == texts.sorted(),
                "it got \(values.map { $0.message.text })"
            )
        },
        check("aRequestDuringAnInterruptionEnds", needs: .requests, requires: .interrupt) { run in
            let responder = try await run.connected()
            try await responder.respond(to: run.subject("echo")) { $0.reply(TransportReply(body: $0.message.body)) }
            let asker = try await run.connected()
            try await run.interrupt(asker) {
                // It ends, whether or not it waits for the connection.
                do { _ = try await asker.request(try run.message("echo", "?"), timeout: .milliseconds(200)) } catch {
                    let codes: Set<BridgeError.Code> = [.notConnected, .timedOut, .bufferFull, .noResponder]
                    run.expect(
                        (error as? BridgeError).map { codes.contains($0.code) } ?? false,
                        "a request without a connection threw \(error)"
                    )
                }
            }
        },
    ]
}
