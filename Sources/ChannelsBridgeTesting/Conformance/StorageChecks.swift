internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// What a broker with storage has to show besides: other options, an older copy, transactions, dead letters.
    static let storageChecks: [Check] = [
        check("transportsWithOtherOptionsShareADurableName", needs: .durable) { run in
            let (one, other) = (try await run.connected(), try await run.otherConnected())
            let heard = Recorder<String>()
            for (transport, limit) in [(one, 1), (other, 100)] {
                var subscription = TransportSubscription(
                    to: try run.pattern("a"),
                    durableName: run.durableName("shared")
                )
                subscription.prefetchLimit = limit
                try await transport.subscribe(subscription) { message in
                    message.settle?(.acknowledged)
                    heard.record(message.message.text)
                }
            }
            try await run.publish(numbered(50), to: "a", durable: true, on: one)
            try await run.publish(numbered(50, from: 50), to: "a", durable: true, on: other)
            let texts = await heard.wait { Set($0).isSuperset(of: numbered(100)) }
            run.expect(texts.count == 100, "100 messages were delivered \(texts.count) times")
            try await other.close(timeout: run.timeout)
            try await run.publish(["end"], to: "a", durable: true, on: one)
            await heard.wait { $0.last == "end" }
        },
        check("whatIsStoredAfterAnOlderCopyWasRestoredArrives", needs: .durable, requires: .rollBack) { run in
            let (receiver, sender) = (try await run.connected(), try await run.connected())
            @Sendable func hear(_ name: String, on transport: any Transport) async throws -> Recorder<String> {
                let heard = Recorder<String>()
                try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName(name)) { message in
                    message.settle?(.acknowledged)
                    heard.record(message.message.text)
                }
                return heard
            }
            let heard = try await hear("reader", on: receiver)
            try await run.publish(["old"], to: "a", durable: true, on: sender)
            _ = await heard.first(1)
            try await run.rollBack {
                try await run.publish(["lost"], to: "a", durable: true, on: sender)
                await heard.wait { $0.contains("lost") }
            }
            for text in numbered(20) {
                let message = try run.message("a", text, headers: ["ce-id": run.durableName(randomIdentifier())])
                try await run.untilDone { try await sender.publish(message, durable: true) }
            }
            await heard.wait { Set($0).isSuperset(of: numbered(20)) }
            // A name of its own reads what is stored, in order.
            let stored = try await hear("late", on: try await run.connected())
            let end = try run.message("a", "end")
            try await run.untilDone { try await sender.publish(end, durable: true) }
            let texts = await stored.wait { $0.last == "end" }
            run.expect(!texts.contains("lost"), "the copy has what was stored later: \(texts)")
            run.expect(
                texts.filter { $0 != "old" && $0 != "lost" }.suffix(21) == (numbered(20) + ["end"]).suffix(texts.count),
                "a new name received \(texts)"
            )
        },
        check("aWatcherHasTheValueStoredAfterAnOlderCopyWasRestored", needs: .lastValues, requires: .rollBack) { run in
            let (watcher, storer) = (try await run.connected(), try await run.connected())
            let seen = Recorder<String>()
            try await watcher.watch(run.pattern("a")) { seen.record($0.message.text) }
            _ = try await storer.store(try run.message("a", "old"))
            await seen.wait { $0.last == "old" }
            let highest = Locked<UInt64>(0)
            try await run.rollBack {
                for text in numbered(5) {
                    let revision = try await storer.store(try run.message("a", text))
                    highest.withLock { $0 = revision }
                }
                await seen.wait { $0.last == "message 4" }
            }
            let new = try run.message("a", "new")
            try await run.untilDone {
                let revision = try await storer.store(new)
                let former = highest.withLock { $0 }
                run.expect(revision > former, "the revision \(revision) follows \(former)")
            }
            await seen.wait { $0.last == "new" }
        },
        check("whatIsPostedInATransactionArrivesOnceItIsCommitted", needs: .durable, requires: .transactions) { run in
            let transport = try await run.connected()
            let heard = Recorder<TransportMessage>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("reader")) { message in
                message.settle?(.acknowledged)
                heard.record(message.message)
            }
            let channel = Switchboard()[try ChannelName<String>(validating: run.subject("a"))]
            try await run.transactions.post("rolled back", channel, false)
            for text in ["1", "2"] { try await run.transactions.post(text, channel, true) }
            let messages = await heard.first(2)
            run.expect(messages.map(\.text) == ["\"1\"", "\"2\""], "it got \(messages.map(\.text))")
            let identifiers = messages.compactMap { $0.headers[TransportHeaders.id] }
            run.expect(Set(identifiers).count == 2, "the identifiers are \(identifiers)")
        },
        check("aMessageSettledInATransactionTakesEffectOnce", needs: .durable, requires: .transactions) { run in
            let (board, name) = (Switchboard(), try ChannelName<String>(validating: run.subject("a")))
            let attempts = Recorder<String>()
            let token = board[name].posts.listen { post in
                attempts.record("\(post.message) \(post.delivery?.attempt ?? 0)")
                try await run.transactions.settle(post, attempts.count > 1 && post.message != "never")
            }
            let reader = run.durableName("reader")
            try await run.running(reader, board, [.incoming(name, durable: true)], failureLimit: 2) { bridge in
                for text in ["first", "second"] { try await run.transactions.post(text, board[name], true) }
                let all = await attempts.first(3)
                run.expect(Set(all) == ["first 1", "first 2", "second 1"], "the attempts were \(all)")
                // A transaction that is rolled back each time is a failure of the listener.
                try await run.transactions.post("never", board[name], true)
                while bridge.statistics.refused == 0 {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                run.expect(attempts.all.suffix(2) == ["never 1", "never 2"], "the attempts were \(attempts.all)")
            }
            withExtendedLifetime(token) {}
            let heard = Recorder<String>()
            try await run.connected().subscribe(to: try run.pattern("a"), durableName: reader) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            try await run.transactions.post("end", board[name], true)
            let texts = await heard.first(1)
            run.expect(texts == ["\"end\""], "what was settled came again: \(texts)")
        },
        check("aStoreCountsWhatADurableNameHasYetToSettle", needs: .durable, requires: .messageStore) { run in
            let transport = try await run.connected()
            guard let store = transport as? any MessageStore else { return }
            let (name, pattern) = (run.durableName("reader"), try run.pattern("a"))
            let heard = Recorder<InboundMessage>()
            try await transport.subscribe(to: pattern, durableName: name) { heard.record($0) }
            try await run.publish(numbered(3), to: "a", durable: true, on: transport)
            let messages = await heard.first(3)
            let before = try await store.unsettledCount(of: name, on: pattern)
            run.expect(before == 3, "of three messages, \(before) are unsettled")
            for message in messages { message.settle?(.acknowledged) }
            // A settlement is not waited for.
            while try await store.unsettledCount(of: name, on: pattern) > 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
        },
        check("aMessageStaysTheSameThroughAnyNumberOfLetters", needs: .durable, requires: .messageStore) { run in
            let (board, name) = (Switchboard(), try ChannelName<String>(validating: run.subject("a")))
            let heard = Recorder<(text: String, delivery: RemoteDelivery)>()
            let token = board[name].posts.listen { post in
                if let delivery = post.delivery { heard.record((post.message, delivery)) }
                throw BridgeError(.refused)
            }
            let box = DeadLetterBox(run.subject("dead"))
            var event = try TransportMessage(posting: "event", on: board[name])
            try event.headers.set("a: b", for: "x-odd")
            let sent = [event, try run.message("a", "\"without an envelope\"", headers: ["x-odd": "a: b"])]
            try await run.running(run.durableName("reader"), board, [.incoming(name, durable: true)]) { bridge in
                let sender = try await run.connected()
                for message in sent { try await sender.publish(message, durable: true) }
                for round in 1...3 {
                    while bridge.statistics.refused < round * sent.count {
                        try Task.checkCancellation()
                        await Task.yield()
                    }
                    let letters = try await box.letters(over: run.newTransport())
                    run.expect(letters.count == sent.count, "in round \(round), the letters are \(letters)")
                    for (letter, message) in zip(letters, sent) {
                        let lost = message.headers.filter { letter.message.headers[$0.name] != $0.value }
                        run.expect(lost.isEmpty, "in round \(round), a letter has lost \(lost)")
                    }
                    switch round {
                    case 1: _ = try await box.putBack(over: run.newTransport())
                    case 2: for letter in letters { _ = try await box.putBack(letter.id, over: run.newTransport()) }
                    default: for letter in letters { _ = try await box.drop(letter.id, over: run.newTransport()) }
                    }
                }
                let rest = try await box.letters(over: run.newTransport())
                run.expect(rest.isEmpty, "letters are left: \(rest)")
            }
            withExtendedLifetime(token) {}
            for (text, all) in Dictionary(grouping: heard.all, by: \.text) {
                run.expect(all.count == 3 && Set(all.map(\.delivery.id)).count == 1, "\(text) came as \(all)")
                run.expect(all.allSatisfy { $0.delivery.attempt == 1 }, "attempts are not counted anew: \(all)")
                let times = all.compactMap(\.delivery.secondsSince1970)
                run.expect((times.max() ?? 0) - (times.min() ?? 0) < 0.002, "the time of \(text) changed: \(times)")
            }
        },
        check("aRefusedMessageIsReplacedByItsLetterOnce", needs: [.durable, .replay]) { run in
            let (first, name) = (try await run.connected(), run.durableName("reader"))
            let heard = Recorder<InboundMessage>()
            try await first.subscribe(to: try run.pattern("a"), durableName: name) { heard.record($0) }
            try await run.publish(["bad"], to: "a", durable: true, on: first)
            guard let refuse = await heard.first(1).first?.refuse else { return }
            let letters = try (0..<2).map {
                try run.message("letter", "letter \($0)", headers: ["ce-id": run.durableName("\($0)")])
            }
            run.expect(try await refuse(letters[0]), "a message that nobody has settled was not refused")
            run.expect(try await !refuse(letters[1]), "a message was refused twice")
            try await first.close(timeout: run.timeout)
            let (second, texts) = (try await run.connected(), Recorder<String>())
            try await run.publish(["end"], to: "letter", durable: true, on: second)
            try await run.publish(["end"], to: "a", durable: true, on: second)
            for subject in ["letter", "a"] {
                try await second.subscribe(to: try run.pattern(subject), durableName: name) { message in
                    message.settle?(.acknowledged)
                    texts.record("\(subject) \(message.message.text)")
                }
            }
            let all = await texts.wait { Set($0).isSuperset(of: ["letter end", "a end"]) }
            run.expect(all.sorted() == ["a end", "letter end", "letter letter 0"], "it got \(all)")
        },
    ]
}
