public import Dispatch

/// What a list needs to know about a listener: the contents of a ``Listener``. Not generic, so that registering a
/// listener looks up no type at run time, and the code is compiled only once. It has no more than six fields, because
/// the compiler builds larger structs in memory and retains each reference in them.
@frozen @usableFromInline
struct Registration {
    /// Where and how the listener is called.
    @usableFromInline
    enum Delivery: Sendable {
        /// On the poster's thread if the poster has this isolation (nil: always), otherwise on the actor.
        case isolated((any Actor)?)
        /// On the poster's thread if the poster is isolated to the owner, an actor; otherwise on that actor.
        case owner
        case queue(DispatchQueue)
        case async(AsyncListenerCall, AsyncIsolation, OverlappingPolicy)
        /// Read by a sequence, identified by this number.
        case sequence(Int)
        /// Before the listeners, on the poster's thread.
        case interceptor
        case responder(ResponderCalls)
        /// Through the listener of another list, to which messages are forwarded on the poster's thread.
        case forwarder(Forwarder)
    }

    /// What most listeners do not need, because they are bare, not `once`, and have no limit of their own.
    @usableFromInline
    final class Details: Sendable {
        /// For listeners that are like most others, except that they are not bare.
        @usableFromInline static let general = Details(nil, isBare: false, isOnce: false, .automatic)

        /// Nil for a listener called on the registration's isolation.
        let delivery: Delivery?
        /// Whether the call is a `Body1` or `Body2`; for a sequence, whether messages are its elements.
        let isBare: Bool
        let isOnce: Bool
        let buffering: BufferingPolicy
        let adaptor: Adaptor?

        @usableFromInline
        init(
            _ delivery: Delivery?,
            isBare: Bool,
            isOnce: Bool,
            _ buffering: BufferingPolicy,
            _ adaptor: Adaptor? = nil
        ) {
            self.delivery = delivery
            self.isBare = isBare
            self.isOnce = isOnce
            self.buffering = buffering
            self.adaptor = adaptor
        }
    }

    @usableFromInline let owner: AnyObject?
    /// The isolation in which the listener is called, unless the details say otherwise.
    @usableFromInline let isolation: (any Actor)?
    @usableFromInline let priority: ListenerPriority
    @usableFromInline let site: PackedSite
    @usableFromInline var call: BareCall
    @usableFromInline var details: Details?

    @inlinable
    init(_ owner: AnyObject?, _ delivery: Delivery, _ options: ListenerOptions, isBare: Bool = false, _ call: BareCall)
    {
        self.owner = owner
        priority = options.priority
        site = options.site
        self.call = call
        if case .isolated(let actor) = delivery {
            isolation = actor
            if !options.isOnce, options.buffering.isAutomatic {
                details = isBare ? nil : .general
            } else {
                details = Details(nil, isBare: isBare, isOnce: options.isOnce, options.buffering)
            }
        } else {
            isolation = nil
            details = Details(delivery, isBare: isBare, isOnce: options.isOnce, options.buffering)
        }
    }
}

extension Registration {
    var delivery: Delivery {
        get { details?.delivery ?? .isolated(isolation) }
        set { details = Details(newValue, isBare: isBare, isOnce: isOnce, buffering, adaptor) }
    }

    var isBare: Bool {
        get { details?.isBare ?? true }
        set { details = Details(details?.delivery, isBare: newValue, isOnce: isOnce, buffering, adaptor) }
    }

    var isOnce: Bool { details?.isOnce ?? false }

    var buffering: BufferingPolicy {
        get { details?.buffering ?? .automatic }
        set { details = Details(details?.delivery, isBare: isBare, isOnce: isOnce, newValue, adaptor) }
    }

    /// Turns the source's messages into what the listener receives; nil if it receives them as they are.
    var adaptor: Adaptor? {
        get { details?.adaptor }
        set { details = Details(details?.delivery, isBare: isBare, isOnce: isOnce, buffering, newValue) }
    }

    @usableFromInline
    var isSequence: Bool { if case .sequence? = details?.delivery { true } else { false } }
}
