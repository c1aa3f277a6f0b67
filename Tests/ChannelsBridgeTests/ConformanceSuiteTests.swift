import Channels
import ChannelsBridge
import ChannelsBridgeTesting
import ChannelsTesting
import Synchronization
import Testing

@Suite(.hangLimit)
struct ConformanceSuiteTests {
    /// A suite that cannot fail would show nothing.
    @Test(arguments: Flaw.all)
    func theSuiteFindsAFlaw(flaw: Flaw) async throws {
        let broker = InMemoryBroker()
        let isInterrupted = Locked(false)
        let suite = TransportConformance(
            timeout: .milliseconds(flaw.hangs ? 300 : 240_000),
            // Nothing breaks but what the flaw says.
            interrupt: { _, body in
                isInterrupted.withLock { $0 = true }
                try await body()
                isInterrupted.withLock { $0 = false }
            },
            // Neither puts anything back, nor knows transactions.
            rollBack: { body in try await body() },
            transactions: TransportConformance.Transactions(
                post: { message, channel, _ in
                    let transport = InMemoryTransport(broker)
                    try await transport.connect { _ in }
                    try await transport.publish(TransportMessage(posting: message, on: channel), durable: true)
                    try await transport.close(timeout: .patience)
                },
                settle: { _, _ in }
            )
        ) {
            var transport = AlteredTransport(broker)
            transport.isInterrupted = { isInterrupted.withLock { $0 } }
            flaw.plant(&transport)
            return flaw.keepsLetters ? AlteredStore(altered: transport) : transport
        }
        let check = try #require(TransportConformance.checks.first { $0.name == flaw.check })
        let outcome = await suite.run(check)
        #expect(outcome.skipped == nil)
        #expect(!outcome.isAcceptable, "\(flaw.name) was not found: \(outcome)")
    }

    @Test func whatATransportCannotDoIsSkipped() async {
        let broker = InMemoryBroker()
        let suite = TransportConformance {
            var transport = AlteredTransport(broker)
            transport.capabilities = []
            return transport
        }
        let outcomes = await suite.run()
        #expect(outcomes.count == TransportConformance.checks.count)
        #expect(outcomes.allSatisfy { $0.isAcceptable })
        #expect(
            outcomes.filter { $0.skipped != nil }.allSatisfy { !$0.check.needs.isEmpty || $0.check.requirement != nil }
        )
        #expect(outcomes.contains { $0.skipped == nil })
    }
}

/// Something wrong with a transport, and the check that has to find it.
struct Flaw: Sendable, CustomTestStringConvertible {
    let name: String
    let check: String
    /// Whether the check then waits for what never comes.
    var hangs = false
    /// Whether the check is one of dead letters.
    var keepsLetters = false
    let plant: @Sendable (inout AlteredTransport) -> Void

    var testDescription: String { name }

    static let all: [Flaw] = [
        Flaw(name: "loses one message", check: "messagesOfOnePublisherArriveInOrder", hangs: true) { transport in
            transport.publishes = { String(decoding: $0.body, as: UTF8.self) == "message 500" ? nil : $0 }
        },
        Flaw(name: "takes two spellings for one name", check: "subjectsOfTwoSpellingsAreTwo", hangs: true) {
            transport in
            transport.publishes = { message in
                let composed = message.subject.unicodeScalars.filter { $0 != "\u{301}" }
                return try TransportMessage(subject: String(composed), headers: message.headers, body: message.body)
            }
        },
        Flaw(name: "delivers twice", check: "everySubscriberHearsEachMessageOnceThePublisherToo") {
            $0.receives = { [$0, $0] }
        },
        Flaw(name: "changes bodies", check: "aMessageArrivesAsItWasPublished") { transport in
            transport.publishes = {
                try TransportMessage(subject: $0.subject, headers: $0.headers, body: $0.body.dropLast())
            }
        },
        Flaw(name: "drops headers", check: "headersArriveAsTheyWereSet") { transport in
            transport.publishes = { try TransportMessage(subject: $0.subject, body: $0.body) }
        },
        Flaw(name: "drops headers of durable messages", check: "aDurableMessageArrivesAsItWasPublished") { transport in
            transport.publishes = { try TransportMessage(subject: $0.subject, body: $0.body) }
        },
        Flaw(name: "counts each delivery as the first", check: "whatIsNotSettledIsDeliveredAgainToTheNext") {
            $0.receives = { [InboundMessage($0.message, identity: $0.identity, onSettled: $0.resettle)] }
        },
        Flaw(name: "identifies all messages alike", check: "whatIsNotSettledIsDeliveredAgainToTheNext") {
            $0.receives = { message in
                let count = message.deliveryCount
                return [
                    InboundMessage(message.message, deliveryCount: count, identity: "1", onSettled: message.resettle)
                ]
            }
        },
        Flaw(name: "counts nothing", check: "aStoreCountsWhatADurableNameHasYetToSettle", keepsLetters: true) {
            $0.counts = { _ in 0 }
        },
        Flaw(name: "never closes", check: "aRequestGetsItsReply", hangs: true) { $0.closes = { await Gate().wait() } },
        Flaw(name: "cannot settle", check: "aDurableMessageArrivesWithAWayToSettleIt") {
            $0.receives = { [InboundMessage($0.message)] }
        },
        Flaw(name: "loses what is released", check: "whatIsReleasedUnsettledComesAgain", hangs: true) { transport in
            let kept = Mutex<[InboundMessage]>([])
            transport.receives = { message in
                kept.withLock { $0.append(message) }
                return [
                    InboundMessage(message.message, deliveryCount: message.deliveryCount, onSettled: message.resettle)
                ]
            }
        },
        Flaw(name: "delivers twice between two processes", check: "transportsWithOtherOptionsShareADurableName") {
            $0.receives = { [$0, $0] }
        },
        Flaw(name: "keeps letters of what is refused twice", check: "aRefusedMessageIsReplacedByItsLetterOnce") {
            $0.receives = { message in
                var message = message
                if message.settle != nil { message.refuse = { _ in true } }
                return [message]
            }
        },
        Flaw(name: "does not go back", check: "whatIsStoredAfterAnOlderCopyWasRestoredArrives") { _ in },
        // As if its revisions had gone back with the storage.
        Flaw(
            name: "sees nothing after it went back",
            check: "aWatcherHasTheValueStoredAfterAnOlderCopyWasRestored",
            hangs: true
        ) { transport in
            let wentBack = Mutex(false)
            transport.sees = { value in
                wentBack.withLock { wentBack in
                    defer { if String(decoding: value.message.body, as: UTF8.self) == "message 4" { wentBack = true } }
                    return !wentBack
                }
            }
        },
        Flaw(
            name: "keeps one letter of two",
            check: "aMessageStaysTheSameThroughAnyNumberOfLetters",
            hangs: true,
            keepsLetters: true
        ) { $0.finds = { $0.dropLast() } },
        Flaw(name: "has one limit for good", check: "howMuchADurableNameHoldsCanBeLimitedLater", hangs: true) {
            $0.limits = { _ in 20 }
        },
        Flaw(name: "posts what is rolled back", check: "whatIsPostedInATransactionArrivesOnceItIsCommitted") { _ in },
        Flaw(
            name: "settles what is rolled back",
            check: "aMessageSettledInATransactionTakesEffectOnce",
            hangs: true
        ) { _ in },
        Flaw(name: "forgets from when to replay", check: "aNewDurableNameBeginsWhereItIsTold") {
            $0.asks = { subscription in
                var subscription = subscription
                if case .time? = subscription.start?.position { subscription.start = .beginning }
                return subscription
            }
        },
        Flaw(
            name: "begins revisions again after it went back",
            check: "aWatcherHasTheValueStoredAfterAnOlderCopyWasRestored"
        ) { $0.revises = { $0 > 6 ? 1 : $0 } },
        Flaw(
            name: "loses settlements while there is no connection",
            check: "whatIsSettledDuringAnInterruptionDoesNotHoldUpWhatFollows",
            hangs: true
        ) { transport in
            let kept = Mutex<[InboundMessage]>([])
            transport.receives = { [isInterrupted = transport.isInterrupted] message in
                kept.withLock { $0.append(message) }
                return [
                    InboundMessage(message.message, deliveryCount: message.deliveryCount) { settlement in
                        if let settlement, !isInterrupted() { message.settle?(settlement) }
                    }
                ]
            }
        },
        Flaw(name: "does not repeat", check: "aRetryComesAgainButNotEarlier", hangs: true) { transport in
            transport.receives = { message in
                [
                    InboundMessage(message.message, deliveryCount: message.deliveryCount) { _ in
                        message.settle?(.acknowledged)
                    }
                ]
            }
        },
        Flaw(name: "does not wait before it repeats", check: "aRetryComesAgainButNotEarlier") { transport in
            transport.receives = { message in
                [
                    InboundMessage(message.message, deliveryCount: message.deliveryCount) { settlement in
                        if case .retry = settlement {
                            message.settle?(.retry(after: .zero))
                        } else if let settlement {
                            message.settle?(settlement)
                        }
                    }
                ]
            }
        },
        Flaw(name: "forgets that a message is terminated", check: "whatIsSettledForGoodDoesNotComeAgain") { transport in
            transport.receives = { message in
                [
                    InboundMessage(message.message, deliveryCount: message.deliveryCount) { settlement in
                        if let settlement, settlement != .terminated { message.settle?(settlement) }
                    }
                ]
            }
        },
        Flaw(name: "does not store", check: "aWatcherGetsTheStoredValueBeforeWatchReturns") { transport in
            transport.stores = { if String(decoding: $0.body, as: UTF8.self) == "current" { throw Trouble() } }
        },
        Flaw(name: "replies with something else", check: "aRequestGetsItsReply") { transport in
            transport.repliesWith = { TransportReply(headers: $0.headers, body: []) }
        },
        Flaw(name: "throws errors of its own", check: "nothingButCloseWorksBeforeConnecting") {
            $0.publishes = { _ in throw Trouble() }
        },
    ]
}
