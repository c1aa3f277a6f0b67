#if Inspector
internal import Channels
internal import ChannelsDiagnostics

/// What was found on a switchboard at one moment.
struct Reading: Sendable {
    /// A channel, a protocol, or all listeners to one pattern. It is encoded for the detail view.
    struct Channel: Sendable, Encodable {
        var name: String
        var kind: String
        var type: String
        /// Whether the switchboard finds it by its name.
        var isNamed = true
        /// The number of messages posted; nil if they are not counted.
        var posts: Int?
        /// The number of posts that reached no listener.
        var unreceived = 0
        /// The number of listeners whose owner was deallocated.
        var lostOwners = 0
        /// The number of faults raised on it while a page was open.
        var faults = 0
        /// Whether messages may be posted from the page.
        var isPostable = false
        var senders: [Sender] = []
        /// The latest messages, oldest first.
        var messages: [MessageSnapshot] = []
        /// The number of the last message sent to pages.
        var lastMessage = 0
        var listeners: [Listener] = []

        /// Identifies the channel among all others of the switchboard.
        var id: ExactText { ExactText("\(kind) \(name)") }

        private enum CodingKeys: String, CodingKey {
            case name, kind, type, posts, unreceived, lostOwners, faults, isPostable, senders, listeners
        }
    }

    /// Who posts, as far as is known.
    struct Sender: Sendable, Encodable {
        /// Nil for posts without a sender.
        var type: String?
        /// Where in the source it posts.
        var site: String?
        var posts: Int
    }

    /// A listener, as the detail view shows it.
    struct Listener: Sendable, Encodable {
        var owner: String?
        var delivery: String
        var priority: Int
        var isPaused: Bool
        var site: String
        /// The actor or queue on which it is called.
        var lane: String?
        var delivered: Int?
        var waiting: Int?
        var mostWaiting: Int?
        var dropped: Int?
        var missed: Int?
        var failures: Int?
        /// How many calls took less than 1, 2, 4, 8 … nanoseconds.
        var times: [Int] = []
        /// The longest call, in nanoseconds.
        var longest: Int64?
        /// The longest time that a message waited for it, in nanoseconds.
        var longestWait: Int64?
    }

    /// When this was read, in milliseconds since 1970.
    var time: Double
    var channels: [Channel] = []
    /// The faults since the last reading, oldest first.
    var faults: [Entry] = []
}

/// Something that happened: a posted message or a fault.
struct Entry: Sendable, Encodable {
    enum Kind: String, Encodable { case message, fault }

    /// Counts the entries of all channels.
    var number = 0
    var kind: Kind
    /// Milliseconds since 1970.
    var time: Double
    var channel: String
    var text: String
    var sender: String?
}

extension Entry {
    init(_ message: MessageSnapshot, of channel: String, readAt time: Double) {
        var process: String?
        if case .remote(let name) = message.origin { process = name }
        self.init(
            kind: .message,
            time: time - message.age / .milliseconds(1),
            channel: channel,
            text: message.text,
            sender: message.senderType ?? process.map { "another process, \($0)" }
        )
    }
}
#endif
