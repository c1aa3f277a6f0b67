#if NATS
public import ChannelsBridge

extension NATSTransport {
    /// The queue group of the responders to a subject, in all processes.
    private static let group = "channels"

    /// Sends a request and waits for the reply.
    ///
    /// If the subject also belongs to a stream, the acknowledgement of the stream is ignored. NATS then
    /// cannot tell that there is no responder, and the request times out.
    public func request(_ message: TransportMessage, timeout: Duration) async throws -> TransportReply {
        let session = try session
        guard timeout > .zero else {
            throw BridgeError(.timedOut, subject: message.subject, detail: "no reply within \(timeout)")
        }
        let answer = try await session.inbox.request(NATSMessage(message), timeout: timeout) {
            !$0.isStreamAcknowledgement
        }
        return TransportReply(headers: NATSMessage.transportHeaders(answer.headers), body: answer.payload)
    }

    /// Receives the requests on a subject.
    public func respond(to subject: String, onRequest: @escaping @Sendable (InboundRequest) -> Void) async throws {
        let open = try open()
        let (session, relay) = (open.session, open.relay)
        let reader = MessageReader(subject, relay)
        let subscription = try await NATSSubscription.subscribe(
            to: subject,
            group: Self.group,
            on: session.connection
        ) { [weak connection = session.connection] received in
            let connection = connection
            // A message without a reply subject is not a request.
            guard let message = reader.read(received), let address = NATSMessage.reply(of: received) else { return }
            onRequest(
                InboundRequest(message) { reply in
                    let headers = NATSMessage.headers(reply.headers)
                    let problem = connection?.sendSoon(
                        NATSMessage(subject: address, headers: headers, payload: reply.body)
                    )
                    // The error is sent instead, so that the asking process does not wait until its timeout.
                    guard let problem else { return }
                    let refusal = EventEnvelope(error: "the reply cannot be sent: \(problem)").headers
                    connection?.sendSoon(NATSMessage(subject: address, headers: NATSMessage.headers(refusal)))
                }
            )
        }
        try await session.keep(subscription)
    }
}

extension NATSMessage {
    /// Whether this is the acknowledgement of a stream: `{"stream":"SHOP","seq":3}`, without headers.
    fileprivate var isStreamAcknowledgement: Bool {
        headers.isEmpty && payload.count < 512 && payload.starts(with: Array("{\"stream\":".utf8))
            && payload.last == UInt8(ascii: "}")
            && String(decoding: payload, as: UTF8.self).contains("\"seq\":")
    }
}
#endif
