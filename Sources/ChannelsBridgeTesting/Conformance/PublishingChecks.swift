internal import Channels
internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Publishing without waiting for each acknowledgement, and fetching no more than there is room for.
    static let publishingChecks: [Check] = [
        check("messagesPublishedInAPipelineAreAcknowledgedAndArriveInOrder", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("reader")) { message in
                message.settle?(.acknowledged)
                heard.record(message.message.text)
            }
            let results = Recorder<BridgeError?>()
            for text in numbered(200) {
                let message = try run.message("a", text, headers: ["ce-id": "\(run.durableName(text))".identifier])
                try await transport.publishDurably(message, isRepeated: false) { results.record($0) }
            }
            let errors = await results.first(200).compactMap { $0 }
            run.expect(errors.isEmpty, "\(errors.count) were not acknowledged: \(errors.first?.description ?? "")")
            let texts = await heard.first(200)
            run.expect(texts == numbered(200), "200 messages arrived in another order")
        },
        check("aRepeatedAttemptWithAKnownIdentifierIsNoError", needs: .durable) { run in
            let transport = try await run.connected()
            try await transport.subscribe(to: try run.pattern("a"), durableName: run.durableName("reader")) {
                $0.settle?(.acknowledged)
            }
            let message = try run.message("a", "same", headers: ["ce-id": run.durableName("id")])
            /// The error of an attempt, thrown or reported.
            @Sendable func attempt(isRepeated: Bool) async -> BridgeError? {
                let results = Recorder<BridgeError?>()
                do {
                    try await transport.publishDurably(message, isRepeated: isRepeated) { results.record($0) }
                } catch {
                    return error as? BridgeError ?? BridgeError(.transportFailure, underlyingError: error)
                }
                return await results.first(1).first ?? nil
            }
            let (first, again, other) = (
                await attempt(isRepeated: false), await attempt(isRepeated: true), await attempt(isRepeated: false)
            )
            run.expect(first == nil, "the first attempt failed: \(first?.description ?? "")")
            run.expect(again == nil, "the repeated attempt failed: \(again?.description ?? "")")
            // A broker that knows identifiers says so; one that does not has stored the message.
            run.expect(
                other == nil || other?.code == .duplicateIdentifier,
                "another message with the identifier: \(other?.description ?? "")"
            )
        },
        check("noMoreIsDeliveredThanMayBeUnsettled", needs: .durable) { run in
            let transport = try await run.connected()
            let heard = Recorder<InboundMessage>()
            var subscription = TransportSubscription(to: try run.pattern("a"), durableName: run.durableName("few"))
            subscription.prefetchLimit = 3
            try await transport.subscribe(subscription) { heard.record($0) }
            try await run.publish(numbered(10), to: "a", durable: true, on: transport)
            var settled = 0
            while settled < 10 {
                let messages = await heard.first(settled + 1)
                // The time is up.
                guard messages.count > settled else { return }
                run.expect(heard.count <= settled + 3, "\(heard.count - settled) messages are unsettled, 3 may be")
                messages[settled].settle?(.acknowledged)
                settled += 1
            }
            run.expect(heard.all.map(\.message.text) == numbered(10), "they came in another order, or again")
        },
    ]
}

extension String {
    /// As a value of a header.
    fileprivate var identifier: String { replacing(" ", with: "-") }
}
