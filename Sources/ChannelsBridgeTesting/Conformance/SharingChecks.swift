internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Groups, whose members share the messages that are not durable.
    static let groupChecks: [Check] = [
        check("ofAGroupOneGetsEachMessageAndOthersGetAll", needs: .groups) { run in
            let sender = try await run.connected()
            let heard = Recorder<String>()
            let members = [("a", "books"), ("b", "books"), ("c", "other"), ("d", nil)]
            for (name, group) in members {
                let subscription = TransportSubscription(to: try run.pattern("a"), group: group)
                try await run.connected().subscribe(subscription) { message in
                    run.expect(message.settle == nil, "a message for a group can be settled")
                    heard.record("\(name) \(message.message.text)")
                }
            }
            try await run.publish(numbered(100), to: "a", on: sender)
            let texts = await heard.first(300)
            for names in [["a", "b"], ["c"], ["d"]] {
                let own = texts.filter { text in names.contains { text.hasPrefix("\($0) ") } }
                let messages = Set(own.map { $0.dropFirst(2) })
                run.expect(
                    own.count == 100 && messages.count == 100,
                    "\(names.joined(separator: " and ")) received \(own.count) messages, \(messages.count) different ones"
                )
            }
        },
        check("whoLeavesAGroupLeavesItsMessagesToTheOthers", needs: .groups) { run in
            let sender = try await run.connected()
            let (stayed, left) = (Recorder<String>(), Recorder<String>())
            let subscription = TransportSubscription(to: try run.pattern("a"), group: "books")
            let leaver = try await run.connected()
            try await run.connected().subscribe(subscription) { stayed.record($0.message.text) }
            try await leaver.subscribe(subscription) { left.record($0.message.text) }
            try await run.publish(numbered(20), to: "a", on: sender)
            while stayed.count + left.count < 20 {
                try Task.checkCancellation()
                await Task.yield()
            }
            try await leaver.close(timeout: run.timeout)
            let before = stayed.count
            try await run.publish(numbered(20, from: 20), to: "a", on: sender)
            let texts = await stayed.first(before + 20)
            run.expect(Array(texts.suffix(20)) == numbered(20, from: 20), "the one that stayed received \(texts.count)")
        },
        check("whoDrainsItsSubscriptionsHasHeardAllThatItWasGiven", needs: .groups) { run in
            let sender = try await run.connected()
            let heard = Recorder<String>()
            let subscription = TransportSubscription(to: try run.pattern("a"), group: "books")
            try await run.connected().subscribe(subscription) { heard.record($0.message.text) }
            for round in 0..<10 {
                let (leaver, left) = (try await run.connected(), Recorder<String>())
                try await leaver.subscribe(subscription) { message in
                    heard.record(message.message.text)
                    left.record(message.message.text)
                }
                async let published: Void = run.publish(numbered(500, from: round * 500), to: "a", on: sender)
                await left.wait(count: 10)
                await leaver.drainSubscriptions(timeout: run.timeout)
                let before = left.count
                try await published
                try await leaver.close(timeout: run.timeout)
                run.expect(left.count == before, "it received \(left.count - before) messages after it had drained")
            }
            let texts = await heard.first(5_000)
            run.expect(Set(texts).count == 5_000, "of 5000 messages, \(Set(texts).count) were received")
        },
    ]

    /// Names that begin with earlier messages.
    static let replayChecks: [Check] = [
        check("aNewDurableNameBeginsWithWhatIsStored", needs: [.durable, .replay]) { run in
            let transport = try await run.connected()
            try await run.publish(numbered(5), to: "a", durable: true, on: transport)
            let heard = Recorder<String>()
            let name = run.durableName("first")
            try await transport.subscribe(to: try run.pattern("a"), durableName: name) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            try await run.publish(["end"], to: "a", durable: true, on: transport)
            let texts = await heard.wait { $0.contains("end") }
            run.expect(texts == numbered(5) + ["end"], "it got \(texts)")
        },
        check("aNewDurableNameBeginsWhereItIsTold", needs: [.durable, .replay]) { run in
            let transport = try await run.connected()
            /// The messages that a new name receives, up to a text.
            @Sendable func heard(from start: ReplayStart, as name: String, upTo last: String) async throws
                -> [InboundMessage]
            {
                let heard = Recorder<InboundMessage>()
                let subscription = TransportSubscription(
                    to: try run.pattern("a"),
                    durableName: run.durableName(name),
                    start: start
                )
                try await transport.subscribe(subscription) { message in
                    message.settle?(.acknowledged)
                    heard.record(message)
                }
                if last == "end" { try await run.publish([last], to: "a", durable: true, on: transport) }
                return await heard.wait { $0.contains { $0.message.text == last } }
            }
            try await run.publish(numbered(2), to: "a", durable: true, on: transport)
            // So that the times differ of what is stored before and after.
            try await Task.sleep(for: .milliseconds(10))
            try await run.publish(numbered(3, from: 2), to: "a", durable: true, on: transport)
            let all = try await heard(from: .beginning, as: "stored", upTo: "message 4")
            run.expect(
                all.map(\.message.text) == numbered(5),
                "from the first stored, it got \(all.map(\.message.text))"
            )
            let recent = try await heard(from: .ago(.seconds(600)), as: "ago", upTo: "message 4")
            run.expect(recent.map(\.message.text) == numbered(5), "from ten minutes ago, it got \(recent.count)")
            if let sequence = all.dropFirst(2).first?.sequence {
                let some = try await heard(from: .sequence(sequence), as: "sequence", upTo: "message 4")
                run.expect(
                    some.map(\.message.text) == Array(numbered(5).dropFirst(2)),
                    "from the third, it got \(some.map(\.message.text))"
                )
            }
            let times = all.compactMap(\.secondsSince1970)
            if times.count == 5 {
                let start = ReplayStart.time(secondsSince1970: (times[1] + times[2]) / 2)
                let some = try await heard(from: start, as: "time", upTo: "message 4")
                run.expect(
                    some.map(\.message.text) == Array(numbered(5).dropFirst(2)),
                    "from a time before the third, it got \(some.map(\.message.text))"
                )
            }
            let new = try await heard(from: .new, as: "new", upTo: "end")
            run.expect(new.map(\.message.text) == ["end"], "from now on, it got \(new.map(\.message.text))")
        },
        check("aDurableNameThatIsKnownGoesOnWhereItWas", needs: [.durable, .replay]) { run in
            let sender = try await run.connected()
            let heard = Recorder<String>()
            for start: ReplayStart in [.new, .beginning, .ago(.seconds(600))] {
                let reader = try await run.connected()
                let subscription = TransportSubscription(
                    to: try run.pattern("a"),
                    durableName: run.durableName("known"),
                    start: start
                )
                try await reader.subscribe(subscription) { message in
                    message.settle?(.acknowledged)
                    heard.record(message.message.text)
                }
                try await run.publish(["\(start)"], to: "a", durable: true, on: sender)
                await heard.wait { $0.last == "\(start)" }
                try await reader.close(timeout: run.timeout)
            }
            run.expect(heard.count == 3, "it received \(heard.all)")
        },
    ]
}
