#if Inspector
/// What is traced while a page is open, as a visitor chose.
enum Tracing: String, Sendable, Codable {
    /// As many posts of each channel as cost next to nothing: of a busy one a sample.
    case automatic
    /// Each post.
    case on
    /// None.
    case off

    /// What a page is told.
    struct Status: Sendable, Equatable, Encodable {
        var mode: Tracing
        /// Whether of some channel only a sample is traced.
        var isSampled = false
        var isOn: Bool { mode != .off }

        private enum Key: String, CodingKey { case mode, isOn, isSampled }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(mode, forKey: .mode)
            try container.encode(isOn, forKey: .isOn)
            try container.encode(isSampled, forKey: .isSampled)
        }
    }
}
#endif
