#if NATS
public import Channels
public import ChannelsBridge
import Foundation

/// Reports what a server stores, for the channels tool and for metrics.
extension NATSTransport {
    /// Reports the streams, the backlog of the consumers, and the dead letters.
    ///
    /// It needs the permissions `$JS.API.STREAM.LIST` and `$JS.API.CONSUMER.LIST.*`. Without
    /// `$JS.API.STREAM.INFO.*`, the number of dead letters may be nil. Without `$JS.API.STREAM.MSG.GET.*`,
    /// the ages are nil.
    public func storeStatus(deadLetters: String?) async throws -> [StoreStatus] {
        let jetStream = try session.jetStream
        var all: [StoreStatus] = []
        do {
            for stream in try await jetStream.list("STREAM.LIST", \StreamPage.streams) {
                guard !stream.config.name.isStreamOfStore else { continue }
                all.append(try await jetStream.status(of: stream, deadLetters.map { "\($0).>" }))
            }
        } catch let refusal as Refusal { throw BridgeError(wrapping: refusal) }
        return all
    }

    /// The name of the consumer that stands for a durable name.
    package static func consumerName(_ name: String, _ pattern: String) -> String {
        ConsumerRequest.consumerName(name, pattern)
    }
}

extension NATSTransport: MessageStore {
    /// Returns the next stored messages that match a pattern, in the order in which they were stored.
    public func stored(after number: UInt64, matching pattern: ChannelPattern, atMost limit: Int) async throws
        -> [StoredMessage]
    {
        let jetStream = try session.jetStream
        let stream = try await jetStream.stream(for: pattern.text)
        var page: [StoredMessage] = []
        var (last, bytes) = (number, 0)
        while page.count < limit, bytes < 16 << 20,
            let found = try await jetStream.message(from: last + 1, on: pattern.text, in: stream)
        {
            last = found.seq
            let message = try found.transportMessage()
            bytes += message.byteCount
            page.append(
                StoredMessage(
                    number: found.seq,
                    message,
                    secondsSince1970: found.time.flatMap { Timestamp($0)?.secondsSince1970 }
                )
            )
        }
        return page
    }

    /// Removes a stored message, for all durable names.
    public func remove(_ number: UInt64, on pattern: ChannelPattern) async throws {
        let jetStream = try session.jetStream
        let stream = try await jetStream.stream(for: pattern.text)
        do {
            let _: Removed = try await jetStream.call("STREAM.MSG.DELETE.\(stream)", ["seq": number])
        } catch let refusal as Refusal {
            throw BridgeError(.refused, subject: pattern.text, refusal.description)
        }
    }

    /// Returns how many messages a durable name has not settled yet.
    public func unsettledCount(of name: String, on pattern: ChannelPattern) async throws -> Int {
        let jetStream = try session.jetStream
        let stream = try await jetStream.stream(for: pattern.text)
        return try await jetStream.consumer(name, pattern.text, stream)?.unsettledCount ?? 0
    }
}

private struct Removed: Decodable { var success: Bool? }

private protocol Page: Decodable {
    var total: Int? { get }
}

private struct StreamPage: Page {
    struct Stream: Decodable {
        struct Configuration: Decodable {
            var name: String
            var subjects: [String]?
        }
        struct State: Decodable {
            var messages: UInt64?
            var lastTs: String?
        }
        var config: Configuration
        var state: State?
    }
    var total: Int?
    var streams: [Stream]?
}

private struct ConsumerPage: Page {
    struct Consumer: Decodable {
        struct Configuration: Decodable {
            var durableName: String?
            var filterSubject: String?
            var inactiveThreshold: Int64?
        }
        /// Whether the server deletes it soon, like the consumer of a tool that only observes.
        var isTemporary: Bool { config?.durableName == nil || config?.inactiveThreshold ?? 0 > 0 }
        var name: String
        var config: Configuration?
        var ackFloor: KnownConsumer.Position?
        var numPending: Int?
        var numAckPending: Int?
        var numRedelivered: Int?
        var numWaiting: Int?
    }
    var total: Int?
    var consumers: [Consumer]?
}

private struct SubjectCounts: Decodable {
    struct State: Decodable { var subjects: [String: Int]? }
    var state: State?
}

/// A message as a stream stores it.
private struct KeptMessage: Decodable {
    struct Answer: Decodable { var message: KeptMessage }

    var subject: String
    var seq: UInt64
    var hdrs: Data?
    var data: Data?
    var time: String?

    func transportMessage() throws -> TransportMessage {
        try TransportMessage(
            subject: subject,
            headers: NATSMessage.transportHeaders(ReceivedHeaders(lines: hdrs ?? Data()).fields),
            body: Array(data ?? Data())
        )
    }
}

extension KnownConsumer {
    fileprivate var unsettledCount: Int { (numPending ?? 0) + (numAckPending ?? 0) }
}

extension JetStream {
    /// Returns the first message from a number on; nil if there is none.
    fileprivate func message(from number: UInt64, on pattern: String, in stream: String) async throws -> KeptMessage? {
        struct Question: Encodable {
            var seq: UInt64
            var nextBySubj: String
        }
        do {
            let question = Question(seq: number, nextBySubj: pattern)
            let answer: KeptMessage.Answer = try await call("STREAM.MSG.GET.\(stream)", question)
            return answer.message
        } catch let refusal as Refusal where refusal.code == 404 {
            return nil
        } catch let refusal as Refusal {
            throw BridgeError(.refused, subject: pattern, refusal.description)
        }
    }

    /// Returns the consumer of a durable name; nil if there is none.
    fileprivate func consumer(_ name: String, _ pattern: String, _ stream: String) async throws -> KnownConsumer? {
        let consumer = ConsumerRequest.consumerName(name, pattern)
        do { return try await call("CONSUMER.INFO.\(stream).\(consumer)", [String: String]()) } catch let refusal
            as Refusal where refusal.reason == .notFound
        {
            return nil
        }
    }

    /// Requests a list, which arrives in pages.
    fileprivate func list<Part: Page, Entry>(_ call: String, _ entries: KeyPath<Part, [Entry]?>) async throws -> [Entry]
    {
        var all: [Entry] = []
        while true {
            let page: Part = try await self.call(call, ["offset": all.count])
            let found = page[keyPath: entries] ?? []
            all += found
            if found.isEmpty || all.count >= page.total ?? 0 { return all }
        }
    }

    fileprivate func status(of stream: StreamPage.Stream, _ deadLetters: String?) async throws -> StoreStatus {
        let name = stream.config.name
        var status = StoreStatus(name: name)
        status.commitAge = stream.state?.messages ?? 0 > 0 ? Self.age(stream.state?.lastTs) : nil
        let consumers = try await list("CONSUMER.LIST.\(name)", \ConsumerPage.consumers)
        for consumer in consumers where !consumer.isTemporary {
            var one = StoreStatus.DurableName(name: consumer.name, pattern: consumer.config?.filterSubject ?? ">")
            (one.waiting, one.unsettled) = (consumer.numPending ?? 0, consumer.numAckPending ?? 0)
            (one.redelivered, one.processes) = (consumer.numRedelivered ?? 0, consumer.numWaiting ?? 0)
            if one.waiting + one.unsettled > 0 {
                let first = (consumer.ackFloor?.streamSeq ?? 0) + 1
                one.oldestAge = Self.age(try? await message(from: first, on: one.pattern, in: name)?.time)
            }
            status.names.append(one)
        }
        if let deadLetters, holds(deadLetters, stream) {
            // The user may lack the permission.
            let found: SubjectCounts? = try? await call("STREAM.INFO.\(name)", ["subjects_filter": deadLetters])
            status.deadLetters = found.map { $0.state?.subjects?.values.reduce(0, +) ?? 0 }
        }
        return status
    }

    private func holds(_ deadLetters: String, _ stream: StreamPage.Stream) -> Bool {
        // Stands for the subject of any letter.
        let subject = deadLetters.dropLast() + "letter"
        return (stream.config.subjects ?? []).contains {
            $0.hasBytes(of: deadLetters) || (try? ChannelPattern(validating: $0))?.matches(String(subject)) == true
        }
    }

    private static func age(_ time: String?) -> Duration? {
        time.flatMap { Timestamp($0) }.map {
            .seconds(max(Timestamp.now.secondsSince1970 - $0.secondsSince1970, 0))
        }
    }
}
#endif
