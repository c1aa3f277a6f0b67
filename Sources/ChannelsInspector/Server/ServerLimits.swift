#if Inspector
/// What one visitor may take from the others, and from the program.
struct ServerLimits: Sendable {
    /// Pages open at a time.
    var streams = 32
    /// Connections at a time; further ones wait to be accepted. Half of them may be waiting for a request.
    var connections = 128
    /// How long a whole request may take to arrive, and a visitor not to take anything of an answer.
    var silence = Duration.seconds(10)
    /// Bytes in the body of a request.
    var body = 64 << 10
    /// From one picture to the next.
    var interval = Duration.milliseconds(500)
}
#endif
