public import Dispatch

/// What a list has to know of a listener: all that a ``Listener`` holds.
///
/// It is not generic, so that registering looks up no type at run time and is compiled once: only the form
/// that builds it knows the type of the messages.
@usableFromInline
struct Registration {
    /// Where and how the listener is called.
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
        /// By the listener of another list, to which messages are handed on on the poster's thread.
        case forwarder(Forwarder)
    }

    let owner: AnyObject?
    var delivery: Delivery
    var call: BareCall
    /// Whether the call is a `Body1` or `Body2`, called without a closure in between. Of a sequence: whether
    /// its elements are the messages as they are.
    var isBare: Bool
    let priority: Priority
    let isOnce: Bool
    /// Nil where the source decides.
    var buffering: BufferingPolicy?
    let site: PackedSite

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

    var isInterceptor: Bool { if case .interceptor = delivery { true } else { false } }

    var isSequence: Bool { if case .sequence = delivery { true } else { false } }
}
