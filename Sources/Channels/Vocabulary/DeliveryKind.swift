/// How messages reach a listener.
///
/// Kinds may be added in minor releases: keep a `default` when matching.
public struct DeliveryKind: Hashable, Sendable, CustomStringConvertible {
    private enum Storage: String {
        case interceptor, direct, mainActor, actor, queue, async, sequence, pattern, responder
    }

    private let storage: Storage

    /// On the poster's thread, before the listeners.
    public static let interceptor = DeliveryKind(storage: .interceptor)
    /// On the poster's thread.
    public static let direct = DeliveryKind(storage: .direct)
    /// On the main actor, to which its closure is isolated.
    public static let mainActor = DeliveryKind(storage: .mainActor)
    /// On another actor, to which its closure is isolated.
    public static let actor = DeliveryKind(storage: .actor)
    /// On a dispatch queue.
    public static let queue = DeliveryKind(storage: .queue)
    /// By awaiting an async closure.
    public static let async = DeliveryKind(storage: .async)
    /// By being read from a sequence.
    public static let sequence = DeliveryKind(storage: .sequence)
    /// Through the listener of a pattern.
    public static let pattern = DeliveryKind(storage: .pattern)
    /// As a responder to requests.
    public static let responder = DeliveryKind(storage: .responder)

    /// The name of the constant: `mainActor`.
    public var description: String { storage.rawValue }
}
