/// Describes a closure and how to call it, as built by `listen` and registered by a ``Listenable``.
///
/// A `Listenable` of your own forwards its listeners, adapted to the messages of its source:
///
/// ```swift
/// struct Totals: Listenable {
///     let sales: Channel<Sale>
///
///     func register(
///         _ listener: consuming Listener<Int>,
///         isolation: isolated (any Actor)?
///     ) -> ListenerToken {
///         sales.register(listener.adapted { (sale: Sale) in sale.total }, isolation: isolation)
///     }
/// }
/// ```
@frozen
public struct Listener<Message> {
    @usableFromInline var registration: Registration

    @inlinable
    init(_ registration: Registration) { self.registration = registration }

    @inlinable
    init(
        _ owner: AnyObject?,
        _ delivery: Registration.Delivery,
        _ options: ListenerOptions,
        isBare: Bool = false,
        _ call: BareCall
    ) {
        self.init(Registration(owner, delivery, options, isBare: isBare, call))
    }

    @inlinable
    init(
        _ owner: AnyObject?,
        _ delivery: Registration.Delivery,
        _ options: ListenerOptions,
        call: @escaping ListenerCall
    ) {
        self.init(owner, delivery, options, BareCall(call: call))
    }

    @inlinable
    init(
        _ owner: AnyObject?,
        on isolation: AsyncIsolation,
        _ options: ListenerOptions,
        _ overlapping: OverlappingPolicy,
        async call: @escaping AsyncListenerCall
    ) {
        self.init(owner, .async(call, isolation, overlapping), options, .nothing)
    }
}

/// Its closures are Sendable, and the forms of `listen` require Sendable owners. For a `LocalChannel` neither need be
/// Sendable, but there they are wrapped in ``LocalListener``, which is not Sendable.
extension Listener: @unchecked Sendable where Message: Sendable {}

extension Listener {
    /// Returns a listener for a source's messages, which converts each one for this listener.
    /// - Parameter transform: Converts a source message to one of the listener's. Runs in the listener's isolation
    ///   domain (for a sequence, in its reader's), or on the poster's thread if the listener filters or uses
    ///   `overlapping:`. Must not block.
    @inlinable
    public consuming func adapted<Source>(
        _ transform: @escaping @Sendable (Source) -> Message
    ) -> Listener<Source> {
        adaptedAtDelivery { message, _ in transform(message) }
    }

    /// Returns a listener for a source's messages, which converts some of them for this listener and skips the others.
    /// - Parameter transform: Converts a source message to one of the listener's, or returns nil to skip it. A skipped
    ///   message takes no place in a buffer. Runs on the poster's thread, once per message and listener. Must not
    ///   block.
    @inlinable
    public consuming func compactAdapted<Source>(
        _ transform: @escaping @Sendable (Source) -> Message?
    ) -> Listener<Source> {
        adapting { message, _, deliver in
            guard let adapted = message.lend(as: Source.self, { transform($0) }) else { return .skipped }
            return MessageAddress.lending(adapted) { deliver($0, false) }
        }
    }

    /// Puts an adaptor before those that this listener already has.
    @usableFromInline
    consuming func adapting<Source>(_ run: @escaping Adaptor.Run) -> Listener<Source> {
        var registration = registration
        registration.adaptor = Adaptor(nil, run, before: registration.adaptor, to: MessageLayout(Message.self))
        return Listener<Source>(registration)
    }

    /// Puts a filter before the adaptors that this listener already has.
    @usableFromInline
    consuming func filtered(if condition: @escaping Adaptor.Condition) -> Listener<Message> {
        var registration = registration
        registration.adaptor = Adaptor(condition, nil, before: registration.adaptor, to: MessageLayout(Message.self))
        return Listener(registration)
    }

    /// Adapts the listener with a transform that also takes what travels with the message, and may skip the message.
    /// The transform runs where the listener runs, or before the listener's adaptors if it has any.
    @inlinable
    consuming func adaptedAtDelivery<Source>(
        _ transform: @escaping @Sendable (Source, Envelope?) -> Message?
    ) -> Listener<Source> {
        // Here the transform must run when the message is posted: a message that it skips must not reach later
        // adaptors, nor cancel a running call.
        if registration.hasAdaptor || registration.overlaps {
            return adapting { message, frame, deliver in
                guard let adapted = transform(message.load(as: Source.self), frame.envelope) else {
                    return .skipped
                }
                return MessageAddress.lending(adapted) { deliver($0, false) }
            }
        }
        guard let original = AdaptedBody(registration) else {
            return adaptedAwaiting(transform)
        }
        return Listener<Source>(
            registration.calling { message, owner, frame in
                guard let adapted = transform(message.load(as: Source.self), frame.envelope) else { return }
                original.run(adapted, owner, frame)
            }
        )
    }

    /// Adapts an async listener. It is not called if the transform returns nil.
    @usableFromInline
    consuming func adaptedAwaiting<Source>(
        _ transform: @escaping @Sendable (Source, Envelope?) -> Message?
    ) -> Listener<Source> {
        var registration = registration
        if case .async(let original, let isolation, let overlapping) = registration.delivery {
            let call: AsyncListenerCall = { message, owner, envelope in
                guard let message = transform(message.load(as: Source.self), envelope) else { return }
                // On the heap, so that the address stays valid while the closure is awaited.
                let adapted = KeptMessage(message)
                defer { withExtendedLifetime(adapted) {} }
                try await original(adapted.address, owner, envelope)
            }
            registration.delivery = .async(call, isolation, overlapping)
        }
        return Listener<Source>(registration)
    }
}

/// The body of an adapted listener. An object, so that calling it retains nothing.
@usableFromInline
final class AdaptedBody: Sendable {
    private let body: ListenerBody
    private let isBare: Bool
    /// Whether the reader of a sequence expects the message as it is.
    @usableFromInline let isRead: Bool

    /// Returns nil for an async listener.
    @usableFromInline
    init?(_ registration: Registration) {
        switch registration.delivery {
        case .isolated, .owner, .queue, .sequence: break
        case .async: return nil
        case .interceptor, .responder, .forwarder: fatalError("defect of swift-channels: not a listener to messages")
        }
        body = ListenerBody(registration.call)
        isBare = registration.isBare
        isRead = registration.isSequence && registration.isBare
    }

    @inlinable
    func run<Message>(_ message: Message, _ owner: OwnerReference?, _ frame: FrameReference) {
        guard !isRead else { return keep(message, frame) }
        MessageAddress.lending(message) { run($0, owner, frame) }
    }

    @usableFromInline
    func run(_ message: MessageAddress, _ owner: OwnerReference?, _ frame: FrameReference) {
        body.call(message, owner, frame, isBare: isBare)
    }

    /// Puts the element where the reader of the sequence expects it.
    @usableFromInline
    func keep<Message>(_ message: Message, _ frame: FrameReference) {
        frame.pointee.place?.initialize(to: message)
        frame.pointee.place = nil
    }
}

extension Registration {
    @usableFromInline
    var hasAdaptor: Bool { adaptor != nil }

    /// Whether calls may overlap, or messages be dropped during a call: under any policy but `.queue`.
    @usableFromInline
    var overlaps: Bool {
        guard case .async(_, _, let overlapping) = delivery else { return false }
        return overlapping != .queue
    }

    /// Replaces the call of this registration with one that takes the frame.
    @usableFromInline
    consuming func calling(_ call: @escaping ListenerCall) -> Registration {
        var other = self
        other.isBare = false
        other.call = BareCall(call: call)
        return other
    }
}
