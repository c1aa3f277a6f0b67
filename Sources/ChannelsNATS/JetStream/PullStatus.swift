#if NATS
/// What the server says about a request for messages, besides the messages.
enum PullStatus {
    /// Everything that was asked for has arrived, or the time is over.
    case over
    /// The next message is larger than the bytes that were asked for.
    case tooLarge
    /// The consumer is gone, has another leader, or has other settings than when it was found.
    case lookUp
    /// Nothing that the messages themselves do not say. With several replicas, this may arrive before them.
    case nothing
    /// Unknown, or the request was refused for a reason that passes. It is reported once, and changes nothing:
    /// when the time of the request is over, there is another one.
    case unknown

    /// All statuses of nats-server 2.9 to 2.12 that mean something. A text is the beginning of the server's.
    private static let known: [(status: String, text: String, meaning: PullStatus)] = [
        ("100", "", .nothing),
        ("400", "Bad Request - Priority Group", .lookUp),
        ("404", "", .over),
        ("408", "", .over),
        ("409", "Batch Completed", .nothing),
        ("409", "Consumer Deleted", .lookUp),
        ("409", "Consumer is push based", .lookUp),
        ("409", "Exceeded MaxRequest", .lookUp),
        ("409", "Leadership Change", .lookUp),
        ("409", "Message Size Exceeds MaxBytes", .tooLarge),
        ("409", "Server Shutdown", .lookUp),
        ("423", "Nats-", .lookUp),
        // Nobody receives requests to this consumer.
        ("503", "", .lookUp),
    ]

    init(_ status: String, _ text: String) {
        self = Self.known.first { $0.status == status && text.hasPrefix($0.text) }?.meaning ?? .unknown
    }

    /// Whether the request to which it belongs is not pending any more.
    var endsRequest: Bool {
        switch self {
        case .over, .tooLarge, .lookUp: true
        case .nothing, .unknown: false
        }
    }
}
#endif
