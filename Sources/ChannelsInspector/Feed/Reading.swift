#if Inspector
/// What one look at a switchboard found.
struct Reading: Sendable {
    /// A channel, a protocol, or all listeners to one pattern.
    struct Channel: Sendable {
        var name: String
        var kind: String
        var type: String
        /// Whether the switchboard finds it by its name.
        var isNamed = true
        /// Messages posted so far; nil where they are not counted.
        var posts: Int?
        /// Those of them that reached nobody.
        var unheard = 0
        /// Listeners whose owner was deallocated.
        var lostOwners = 0
        var senders: [Sender] = []
        /// The last ones, oldest first.
        var messages: [Message] = []
        var listeners: [Listener] = []
    }

    /// Who posts, as far as it is known.
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
        /// The actor or queue on which it has its turns.
        var lane: String?
        var delivered: Int?
        var waiting: Int?
        var mostWaiting: Int?
        var dropped: Int?
        var missed: Int?
        var failures: Int?
        /// Calls that took less than 1, 2, 4, 8 … nanoseconds.
        var times: [Int] = []
        /// The longest call, in nanoseconds.
        var longest: Int?
        /// The longest that a message was on its way to it, in nanoseconds.
        var longestWait: Int?
    }

    /// A message that was posted.
    struct Message: Sendable {
        /// The how-manieth of its channel.
        var number: Int
        /// Milliseconds since 1970.
        var time: Double
        var text: String
        var sender: String?
    }

    /// Something that went wrong.
    struct Fault: Sendable, Encodable {
        /// Counts up, from 1, without a gap.
        var number: Int
        /// Milliseconds since 1970.
        var time: Double
        var channel: String
        var text: String
    }

    var channels: [Channel] = []
    /// The last ones, oldest first.
    var faults: [Fault] = []
}
#endif
