internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Delivery at least once.
    static let durableChecks: [Check] = [
        check("aDurableMessageArrivesWithAWayToSettleIt", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<InboundMessage>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("one")) { message in
                message.settle?(.acknowledged)
                heard.record(message)
            }
            try await run.publish(numbered(100), to: "a", durable: true, on: transport)
            let messages = await heard.first(100)
            run.expect(messages.map(\.message.text) == numbered(100), "100 messages arrived in another order")
            run.expect(messages.allSatisfy { $0.settle != nil }, "a durable message has no way to settle it")
            run.expect(
                messages.allSatisfy { $0.deliveryCount == 1 },
                "a first delivery is counted as \(messages.map(\.deliveryCount).max() ?? 0)"
            )
        },
        check("aDurableMessageArrivesAsItWasPublished", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<TransportMessage>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("exact")) { message in
                message.settle?(.acknowledged)
                heard.record(message.message)
            }
            let bodies: [[UInt8]] = [[], [0], Array(0...255), Array(repeating: 0, count: 100_000)]
            for (number, body) in bodies.enumerated() {
                let headers: TransportHeaders = ["ce-id": run.durableName("\(number)"), "x-odd": "a: b, \"c\"; d=%20"]
                let message = try TransportMessage(subject: run.subject("a"), headers: headers, body: body)
                try await transport.publish(message, durable: true)
            }
            for (number, message) in await heard.first(bodies.count).enumerated() {
                run.expect(message.body == bodies[number], "a body of \(bodies[number].count) bytes arrived changed")
                let (id, odd) = (message.headers["ce-id"], message.headers["x-odd"])
                run.expect(
                    id == run.durableName("\(number)") && odd == "a: b, \"c\"; d=%20",
                    "its headers were changed"
                )
            }
        },
        check("whatIsPublishedWhileADurableNameIsAwayWaits", needs: .durable) { run in
            let sender = try await run.connected()
            let first = try await run.connected()
            let name = run.durableName("away")
            try await first.subscribe(to: try run.pattern("a"), durableName: name) { $0.settle?(.acknowledged) }
            try await first.close(timeout: run.timeout)
            try await run.publish(numbered(20), to: "a", durable: true, on: sender)
            let second = try await run.connected()
            let heard = Recorder<String>()
            try await second.subscribe(to: try run.pattern("a"), durableName: name) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            let texts = await heard.first(20)
            run.expect(texts == numbered(20), "it got \(texts)")
        },
        check("whatIsNotSettledIsDeliveredAgainToTheNext", needs: .durable) { run in
            let sender = try await run.connected()
            let first = try await run.connected()
            let name = run.durableName("unsettled")
            let taken = Recorder<InboundMessage>()
            try await first.subscribe(to: try run.pattern("a"), durableName: name) { taken.record($0) }
            try await run.publish(["one", "two"], to: "a", durable: true, on: sender)
            let before = await taken.first(2).map(\.identity)
            try await first.close(timeout: run.timeout)
            let second = try await run.connected()
            let heard = Recorder<InboundMessage>()
            try await second.subscribe(to: try run.pattern("a"), durableName: name) { message in
                message.settle?(.acknowledged)
                heard.record(message)
            }
            let messages = await heard.first(2)
            run.expect(messages.map(\.message.text) == ["one", "two"], "it got \(messages.map(\.message.text))")
            let counts = messages.map(\.deliveryCount)
            run.expect(counts == [2, 2], "the second deliveries are counted as \(counts)")
            run.expect(
                messages.map(\.identity) == before,
                "the identities \(before) became \(messages.map(\.identity))"
            )
            run.expect(
                before.isEmpty || before.first != before.last || before.first == .some(nil),
                "two have one identity"
            )
        },
        check("whatIsReleasedUnsettledComesAgain", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<(count: Int, identity: String?)>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("kept")) { message in
                if message.deliveryCount > 1 { message.settle?(.acknowledged) }
                heard.record((message.deliveryCount, message.identity))
            }
            try await run.publish(["dropped"], to: "a", durable: true, on: transport)
            let deliveries = await heard.first(2)
            run.expect(deliveries.map(\.count) == [1, 2], "the deliveries are counted as \(deliveries)")
        },
        check("aRetryComesAgainButNotEarlier", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<(Int, ContinuousClock.Instant)>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("retry")) { message in
                heard.record((message.deliveryCount, .now))
                message.settle?(message.deliveryCount < 3 ? .retry(after: .milliseconds(50)) : .acknowledged)
            }
            try await run.publish(["again"], to: "a", durable: true, on: transport)
            let deliveries = await heard.first(3)
            run.expect(deliveries.map(\.0) == [1, 2, 3], "the deliveries are counted as \(deliveries.map(\.0))")
            for (earlier, later) in zip(deliveries, deliveries.dropFirst()) {
                // Brokers measure in milliseconds.
                run.expect(
                    later.1 - earlier.1 >= .milliseconds(49),
                    "it came again after \(later.1 - earlier.1), not 50 milliseconds"
                )
            }
        },
        check("whatIsSettledForGoodDoesNotComeAgain", needs: .durable) { run in
            let sender = try await run.connected()
            let name = run.durableName("settled")
            for round in 0..<2 {
                let receiver = try await run.connected()
                let heard = Recorder<String>()
                try await receiver.subscribe(to: try run.pattern("a"), durableName: name) { message in
                    message.settle?(message.message.text.hasPrefix("bad") ? .terminated : .acknowledged)
                    heard.record(message.message.text)
                }
                try await run.publish(
                    ["bad \(round)", "good \(round)", "end \(round)"],
                    to: "a",
                    durable: true,
                    on: sender
                )
                let texts = await heard.first(3)
                run.expect(texts == ["bad \(round)", "good \(round)", "end \(round)"], "round \(round) got \(texts)")
                try await receiver.close(timeout: run.timeout)
            }
        },
        check("processesOfOneDurableNameShareTheMessages", needs: .durable) { run in
            let sender = try await run.connected()
            let heard = Recorder<String>()
            for _ in 0..<2 {
                try await run.connected().subscribe(to: try run.pattern("a"), durableName: run.durableName("shared")) {
                    message in
                    message.settle?(.acknowledged)
                    heard.record(message.message.text)
                }
            }
            try await run.publish(numbered(50) + ["end"], to: "a", durable: true, on: sender)
            let texts = await heard.wait { $0.count >= 51 && $0.contains("end") }
            run.expect(
                texts.count == 51 && Set(texts) == Set(numbered(50) + ["end"]),
                "51 messages were delivered \(texts.count) times"
            )
        },
        check("howMuchADurableNameHoldsCanBeLimitedLater", needs: .durable) { run in
            let (first, second) = (try await run.connected(), try await run.connected())
            let name = run.durableName("limited")
            let subscription = TransportSubscription(to: try run.pattern("a"), durableName: name, prefetchLimit: 1)
            let (held, heard) = (Recorder<InboundMessage>(), Recorder<String>())
            try await first.subscribe(subscription) { held.record($0) }
            try await run.publish(numbered(20), to: "a", durable: true, on: second)
            _ = await held.first(1)
            first.limitPrefetch(to: 5, of: subscription)
            _ = await held.first(5)
            first.limitPrefetch(to: 0, of: subscription)
            for message in held.all { message.settle?(.acknowledged) }
            try await second.subscribe(to: try run.pattern("a"), durableName: name) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            let rest = await heard.first(15)
            run.expect(held.count == 5 && Set(rest).count == 15, "one took \(held.count) messages, the other \(rest)")
        },
        check("durableNamesAndPatternsAreApart", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            for (name, pattern) in [("a", "x.*"), ("b", "x.*"), ("a", "x.>")] {
                try await transport.subscribe(to: try run.pattern(pattern), durableName: run.durableName(name)) {
                    message in
                    message.settle?(.acknowledged)
                    heard.record("\(name) \(pattern) \(message.message.text)")
                }
            }
            try await run.publish(["1", "2"], to: "x.y", durable: true, on: transport)
            let texts = await heard.first(6)
            let expected = Set(["a x.*", "b x.*", "a x.>"].flatMap { ["\($0) 1", "\($0) 2"] })
            run.expect(Set(texts) == expected, "they got \(texts.sorted())")
        },
        check("aDurableMessageReachesOtherSubscribersToo", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { message in
                run.expect(message.settle == nil, "a subscription without a durable name got a message to settle")
                heard.record(message.message.text)
            }
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("also")) {
                $0.settle?(.acknowledged)
            }
            try await run.publish(numbered(3), to: "a", durable: true, on: transport)
            let texts = await heard.first(3)
            run.expect(texts == numbered(3), "it got \(texts)")
        },
        check("publishingTheSameIdentifierTwiceIsAcknowledged", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("twice")) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            let message = try run.message("a", "same", headers: ["ce-id": run.durableName("id")])
            try await transport.publish(message, durable: true)
            try await transport.publish(message, durable: true)
            try await run.publish(["end"], to: "a", durable: true, on: transport)
            let texts = await heard.wait { $0.contains("end") }
            run.expect(texts.filter { $0 == "same" }.count >= 1, "it did not arrive")
        },
    ]
}
