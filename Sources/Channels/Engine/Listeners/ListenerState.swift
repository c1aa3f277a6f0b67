/// What a post asks of a listener, in one word: the number of its registration, and above it a bit for each property
/// that a number alone does not tell.
///
/// A post knows the number of the first listener that is too new for it. All its questions about the listeners that
/// only have to be called are comparisons with that number. A state without bits is a number, so it is smaller if the
/// listener is old enough. Any bit makes it larger than every number. Inverting one bit asks the same of the listeners
/// that have that bit and no other: where the bit was not set, it is afterwards.
///
/// An `OptionSet` by its methods only: those of the protocol are generic and make arrays, with which a program that is
/// built for debugging posts at a third of the speed.
struct ListenerState: Equatable, Sendable {
    let rawValue: UInt64

    static let none = Self(rawValue: 0)
    /// No further message reaches it, and waiting ones are discarded.
    static let cancelled = Self(rawValue: 1 << 63)
    /// No further message reaches it, but waiting ones are delivered: its channel has ended, or it was `once`.
    static let closed = Self(rawValue: 1 << 62)
    static let paused = Self(rawValue: 1 << 61)
    /// Its calls are always counted, and without atomic additions, because they are made one at a time.
    static let counted = Self(rawValue: 1 << 60)
    static let owned = Self(rawValue: 1 << 59)
    static let once = Self(rawValue: 1 << 58)
    /// The body is a `ListenerCall`. Without this bit it is a bare `Body1` or, with an owner, a `Body2`.
    static let general = Self(rawValue: 1 << 57)
    /// Forwards messages to the listener of another list.
    static let forwarding = Self(rawValue: 1 << 56)
    /// Its messages wait in a lane: its route is a `Mailbox`.
    static let waitsInLane = Self(rawValue: 1 << 55)
    static let intercepting = Self(rawValue: 1 << 54)
    /// Receives what its ``Adaptor`` makes of a message.
    static let adapted = Self(rawValue: 1 << 53)
    /// Its messages wait for tasks that read: its route is a `SequenceMailbox`.
    static let waitsForReader = Self(rawValue: 1 << 52)
    /// All bits that are not used above.
    private static let numberBits: UInt64 = (1 << 52) - 1

    static func | (left: Self, right: Self) -> Self { Self(rawValue: left.rawValue | right.rawValue) }

    /// Whether the state has any of the bits.
    func contains(_ bits: Self) -> Bool { rawValue & bits.rawValue != 0 }

    mutating func insert(_ bits: Self) { self = self | bits }

    func subtracting(_ bits: Self) -> Self { Self(rawValue: rawValue & ~bits.rawValue) }

    /// The number of the registration, which increases with each registration.
    var number: UInt64 { rawValue & Self.numberBits }

    /// How a message reaches the listener, besides its owner and the type of its body.
    var routing: Self { Self(rawValue: rawValue & ~Self.numberBits).subtracting(.owned | .general) }

    func numbered(_ number: UInt64) -> Self { Self(rawValue: rawValue & ~Self.numberBits | number) }

    // What a post asks. A limit of 0 makes all but the last false.

    /// Whether the listener only has to be called.
    func isPlain(before limit: UInt64) -> Bool { rawValue < limit }

    /// Whether the listener only has to be called with its owner.
    func isPlainOwned(before limit: UInt64) -> Bool { rawValue ^ Self.owned.rawValue < limit }

    /// Whether the listener has no owner and only has to be called with what its adaptor makes of the message.
    func isPlainAdapted(before limit: UInt64) -> Bool { rawValue ^ Self.adapted.rawValue < limit }

    /// Whether the listener was registered before the post began.
    func isOld(before number: UInt64) -> Bool { self.number < number }

    var hasEnded: Bool { contains(.cancelled | .closed) }

    /// Whether the listener receives messages, rather than having ended, being paused or being an interceptor.
    var receives: Bool { !contains(.cancelled | .closed | .paused | .intercepting) }

    /// Whether messages may wait for the listener.
    var waits: Bool { contains(.waitsInLane | .waitsForReader) }

    /// Whether calls are made one at a time: on an actor or queue, or in the turns of a state.
    var isCalledAlone: Bool { contains(.waitsInLane | .counted) }

    /// Whether messages are counted even without diagnostics.
    var isAlwaysCounted: Bool { contains(.waitsInLane | .waitsForReader | .counted) }
}
