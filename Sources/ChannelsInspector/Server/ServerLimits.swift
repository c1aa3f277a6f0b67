#if Inspector
/// Limits that keep one visitor from taking too much from the others and from the program.
struct ServerLimits: Sendable {
    /// How many pages may be open at a time.
    var streams = 32
    /// How many connections there may be at a time. Further ones wait to be accepted. Half of them may be
    /// waiting for a request.
    var connections = 128
    /// How long a whole request may take to arrive, and how long a visitor may read nothing of an answer.
    var silence = Duration.seconds(10)
    /// The maximum number of bytes in the body of a request.
    var body = 64 << 10
    /// The shortest time from one picture to the next.
    var interval = Duration.milliseconds(500)
}
#endif
