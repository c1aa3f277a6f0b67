public import Channels
internal import Synchronization

/// A message received by a transport.
public struct InboundMessage: Sendable {
    /// The message.
    public let message: TransportMessage
    /// How often the broker has delivered a durable message for this durable name, including this time; 1 for
    /// messages that are not durable.
    ///
    /// It includes deliveries to processes that ended before they settled the message, as far as the broker
    /// counts them.
    public let deliveryCount: Int
    /// The broker's identifier of a durable message, such as its number in a stream. It is the same in every
    /// delivery. If it is nil, the bridge identifies the message by its envelope.
    public let identity: String?
    /// The number of a durable message in its stream, if the broker has streams. ``ReplayStart/sequence(_:)``
    /// takes such a number.
    ///
    /// It tells a bridge which of two messages with the same identifier was stored first. Only the later one
    /// is a duplicate.
    public let sequence: UInt64?
    /// Settles a durable message; nil if the message is not durable.
    ///
    /// It may be called from any thread, and does not wait. Only the first call counts. If the message is
    /// released without a call, or the connection is lost, the broker delivers the message again.
    public let settle: (@Sendable (Settlement) -> Void)?

    /// When the broker stored a durable message, by its clock, as Foundation's `timeIntervalSince1970`. Nil if the
    /// transport does not know.
    public var secondsSince1970: Double?

    /// What the transport needs in order to settle the message in a listener's transaction. A listener finds it
    /// in `RemoteDelivery.transportContext`.
    public var context: (any DeliveryContext)?

    /// Why the transport could read only a part of a durable message; nil if it could read all of it. A
    /// bridge makes such a message a dead letter.
    public var problem: BridgeError?

    /// Removes a durable message that cannot be handled, and stores its dead letter, in one transaction. Nil
    /// if the transport has no such transactions.
    ///
    /// It returns false, and stores nothing, if the message no longer belongs to this delivery, because a
    /// listener has settled it or another process now has it. Once it has returned, no listener can settle
    /// the message. The bridge then settles or releases the message to free its place, which changes nothing
    /// that is stored. If it throws, nothing has changed.
    ///
    /// Listeners may still be running when it is called, and may be about to commit a settlement of their
    /// own: whichever transaction commits first decides.
    ///
    /// - Parameter letter: The letter, with its own subject and identifier.
    /// - Throws: The errors of ``Transport/publish(_:durable:)`` for a durable message.
    public var refuse: (@Sendable (_ letter: TransportMessage) async throws -> Bool)?

    /// Opens when the broker no longer knows the delivery, for example because an older copy of a file was restored.
    /// Then the message is not handled any more.
    package var isOver: Latch?

    /// Creates a message, for the author of a transport.
    ///
    /// - Parameter onSettled: For a durable message. Called once, on any thread: with its settlement, or with nil when
    ///   nothing refers to the message any more and it has not been settled, so that it has to be delivered again. It
    ///   must not block. A settlement that arrives while there is no connection may be kept or forgotten, but it must
    ///   free the message's place: ``TransportSubscription/prefetchLimit``.
    public init(
        _ message: TransportMessage,
        deliveryCount: Int = 1,
        identity: String? = nil,
        sequence: UInt64? = nil,
        onSettled: (@Sendable (Settlement?) -> Void)? = nil
    ) {
        self.message = message
        self.deliveryCount = deliveryCount
        self.identity = identity
        self.sequence = sequence
        guard let onSettled else {
            settle = nil
            return
        }
        let unsettled = Unsettled(onSettled)
        settle = { unsettled.end($0) }
    }
}

/// Reports exactly once how a durable message has ended: with a settlement, or released without one.
private final class Unsettled: Sendable {
    private let onEnd: @Sendable (Settlement?) -> Void
    private let hasEnded = Atomic<Bool>(false)

    init(_ onEnd: @escaping @Sendable (Settlement?) -> Void) { self.onEnd = onEnd }

    deinit { end(nil) }

    func end(_ settlement: Settlement?) {
        if !hasEnded.exchange(true, ordering: .relaxed) { onEnd(settlement) }
    }
}

/// What a transport attaches to a durable message so that a listener can settle it in a transaction of its own (an
/// inbox).
///
/// Set ``InboundMessage/context`` to a type of your own, and extend `Posted` with a method that finds it in
/// `delivery?.transportContext` and settles the message on the listener's connection.
public protocol DeliveryContext: Sendable {
    /// Whether a listener has settled the message in its transaction. If the transaction is rolled back, the
    /// transport delivers the message again, and that delivery is not a duplicate.
    ///
    /// If it is true and the transaction was committed, ``Settlement/acknowledged`` changes nothing. If the
    /// transaction was not committed, the transport treats ``Settlement/acknowledged`` as
    /// ``Settlement/retry(after:)``.
    var isSettledByListener: Bool { get }
}

extension RemoteDelivery {
    /// What the transport attached to the message, for the method with which a listener settles it; nil if
    /// there is nothing.
    public var transportContext: (any DeliveryContext)? { context as? any DeliveryContext }
}

extension InboundMessage {
    /// What listeners can find out about how the message arrived.
    func delivery(of envelope: EventEnvelope) -> RemoteDelivery {
        // A letter that was put back has its own identifier in addition to that of its message.
        let former = settle == nil ? nil : message.headers[DeadLetterHeader.id]
        return RemoteDelivery(
            id: former.flatMap { try? $0.percentDecoded(DeadLetterHeader.id, "") } ?? envelope.id ?? identity ?? "",
            secondsSince1970: envelope.time.flatMap { Timestamp($0)?.secondsSince1970 } ?? secondsSince1970,
            attempt: deliveryCount,
            context: context
        )
    }
}
