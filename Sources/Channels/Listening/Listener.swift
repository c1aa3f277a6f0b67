public import Dispatch

/// What a form of `listen` builds and a ``Listenable`` registers: a closure, and how it is to be called.
///
/// It is opaque. A type that makes a `Listenable` of something else forwards the listeners it is given,
/// adapted to the messages of what it wraps:
///
/// ```swift
/// struct Totals: Listenable {
///     let sales: Channel<Sale>
///
///     func register(_ listener: consuming Listener<Int>, isolation: isolated (any Actor)?) -> ListenerToken {
///         sales.register(listener.adapted { (sale: Sale) in sale.total }, isolation: isolation)
///     }
/// }
/// ```
public struct Listener<Message> {
    /// Where and how it is called.
    @usableFromInline
    enum Delivery {
        /// On the poster's thread where it has this isolation (nil: always), else on the actor.
        case isolated((any Actor)?)
        /// The same, the actor being the owner.
        case owner
        case queue(DispatchQueue)
        /// By awaiting a closure.
        case async(AsyncListenerCall, AsyncIsolation)
        /// By whoever reads the sequence.
        case sequence(SequenceReaders)
        /// Before the listeners, on the poster's thread.
        case interceptor
        /// By whoever asks.
        case responder(ResponderCalls)
        /// On the poster's thread, to hand the message on to the listener of a pattern.
        case forwarder
    }

    @usableFromInline let owner: AnyObject?
    @usableFromInline let delivery: Delivery
    @usableFromInline let call: BareCall
    /// Whether the call is a `Body1` or `Body2`, called without a closure in between. Of a sequence: whether
    /// its elements are the messages as they are.
    @usableFromInline let isBare: Bool
    @usableFromInline let priority: Priority
    @usableFromInline let isOnce: Bool
    /// Nil where the source decides.
    @usableFromInline var buffering: BufferingPolicy?
    @usableFromInline let site: PackedSite

    @usableFromInline
    init(_ owner: AnyObject?, _ delivery: Delivery, _ options: ListenerOptions, isBare: Bool = false, _ call: BareCall)
    {
        self.owner = owner
        self.delivery = delivery
        self.call = call
        self.isBare = isBare
        priority = options.priority
        isOnce = options.isOnce
        buffering = options.buffering
        site = options.site
    }

    @inlinable
    init(_ owner: AnyObject?, _ delivery: Delivery, _ options: ListenerOptions, call: @escaping ListenerCall) {
        self.init(owner, delivery, options, BareCall(call: call))
    }

    /// A listener whose closure is awaited.
    @inlinable
    init(
        _ owner: AnyObject?,
        on isolation: AsyncIsolation,
        _ options: ListenerOptions,
        async call: @escaping AsyncListenerCall
    ) {
        self.init(owner, .async(call, isolation), options, .nothing)
    }

    var isInterceptor: Bool {
        if case .interceptor = delivery { true } else { false }
    }

    var isSequence: Bool {
        if case .sequence = delivery { true } else { false }
    }
}

/// Its closures are Sendable, and an owner is handed in by a form that requires it to be. (`LocalChannel`
/// makes listeners of which this is not true; it does not hand them out.)
extension Listener: @unchecked Sendable where Message: Sendable {}

// MARK: - Adapting

extension Listener {
    /// This listener as one for the messages of another type.
    ///
    /// - Parameter transform: Makes a message of what the source posts. It runs where the listener runs, once
    ///   for each call: on the listener's isolation, or where a sequence is read. It must not block.
    public consuming func adapted<Source>(
        _ transform: @escaping @Sendable (Source) -> Message
    ) -> Listener<Source> {
        adapted { message, _ in transform(message) }
    }

    /// The same, told what travelled with the message.
    consuming func adapted<Source>(
        _ transform: @escaping @Sendable (Source, PostContext) -> Message
    ) -> Listener<Source> {
        let options = ListenerOptions(priority, once: isOnce, buffering: buffering, site)
        switch delivery {
        case .isolated(let actor):
            return Listener<Source>(owner, .isolated(actor), options, call: adaptedCall(transform))
        case .owner: return Listener<Source>(owner, .owner, options, call: adaptedCall(transform))
        case .queue(let queue): return Listener<Source>(owner, .queue(queue), options, call: adaptedCall(transform))
        case .sequence(let readers):
            return Listener<Source>(owner, .sequence(readers), options, call: adaptedCall(transform))
        case .async(let original, let isolation):
            return Listener<Source>(owner, on: isolation, options) { message, owner, context in
                // On the heap, because it stays in its place while the closure is awaited.
                let adapted = KeptMessage(transform(message.load(as: Source.self), context))
                defer { withExtendedLifetime(adapted) {} }
                try await original(adapted.address, owner, context)
            }
        case .interceptor, .responder, .forwarder:
            preconditionFailure("an interceptor of \(Source.self) cannot be adapted to \(Message.self)")
        }
    }

    /// The call of a synchronous listener, or of a sequence, for another source.
    private borrowing func adaptedCall<Source>(
        _ transform: @escaping @Sendable (Source, PostContext) -> Message
    ) -> ListenerCall {
        let original = AdaptedBody(call, isBare: isBare, isSequence: isSequence)
        return { message, owner, frame in
            let adapted = transform(message.load(as: Source.self), PostContext(frame))
            original.run(adapted, owner, frame)
        }
    }
}

/// The body of a listener that has been adapted to another source.
private struct AdaptedBody: Sendable {
    let call: BareCall
    let isBare: Bool
    let isSequence: Bool

    init(_ call: BareCall, isBare: Bool, isSequence: Bool) {
        self.call = call
        self.isBare = isBare
        self.isSequence = isSequence
    }

    func run<Message>(_ message: Message, _ owner: OwnerReference?, _ frame: FrameReference) {
        if isSequence, isBare {
            // Innermost: whoever reads the sequence wants the element in this place.
            frame.pointee.place?.initialize(to: message)
            return
        }
        let body = ListenerBody(call)
        MessageAddress.lending(message) {
            if !isBare {
                body.callGeneral($0, owner, frame)
            } else if let owner {
                body.callBare($0, owner: owner)
            } else {
                body.callBare($0)
            }
        }
    }
}
