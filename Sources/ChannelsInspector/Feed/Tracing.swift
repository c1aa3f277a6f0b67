#if Inspector
/// Whether posts are traced: a pure state machine.
///
/// A trace of a post takes a microsecond or two. So that a busy switchboard is not slowed down because somebody
/// looks at it, the automatic mode traces only while there are few enough posts.
struct Tracing: Sendable, Equatable {
    /// What the visitor chose.
    enum Mode: String, Sendable, Codable {
        case automatic, on, off
    }

    /// What a page is told.
    struct Status: Sendable, Equatable, Encodable {
        var mode: Mode
        var isOn: Bool
    }

    /// Posts a second above which the automatic mode does not trace, and below which it does again.
    static let most = 5_000.0
    static let few = 2_000.0
    /// Looks in a row with few posts before it does again.
    static let patience = 6

    private(set) var mode = Mode.automatic
    private(set) var isOn = true
    private var quiet = 0

    var status: Status { Status(mode: mode, isOn: isOn) }

    mutating func choose(_ mode: Mode) {
        self.mode = mode
        if mode != .automatic { isOn = mode == .on }
        quiet = 0
    }

    /// Takes how many posts a second there were on all channels since the last look.
    mutating func note(rate: Double) {
        guard mode == .automatic else { return }
        quiet = rate < Self.few ? quiet + 1 : 0
        if rate > Self.most { isOn = false }
        if !isOn, quiet >= Self.patience { isOn = true }
    }
}
#endif
