public import Dispatch

/// What a list has to know of a listener: all that a ``Listener`` holds.
///
/// It is not generic, so that registering looks up no type at run time and is compiled once: only the form
/// that builds it knows the type of the messages.
///
/// It has six fields, because the compiler takes a struct of up to six apart: a larger one is built in memory,
/// and each reference in it is retained for that.
@frozen @usableFromInline
struct Registration {
    /// Where and how the listener is called.
    @usableFromInline
    enum Delivery: Sendable {
        /// On the poster's thread where it has this isolation (nil: always), else on the actor.
        case isolated((any Actor)?)
        /// On the poster's thread where it has the isolation of the owner, an actor, else on that actor.
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

    /// What most listeners do not need: those that are bare, hear any number of messages and have no bound of
    /// their own.
    @usableFromInline
    final class Extras: Sendable {
        /// Of a listener that differs from those only in that it is not bare.
        @usableFromInline static let general = Extras(nil, isBare: false, isOnce: false, nil)

        /// Nil for one that is called with the registration's isolation.
        let delivery: Delivery?
        /// Whether the call is a `Body1` or `Body2`, called without a closure in between. Of a sequence:
        /// whether its elements are the messages as they are.
        let isBare: Bool
        let isOnce: Bool
        /// Nil where the source decides.
        let buffering: BufferingPolicy?
        let adaptor: Adaptor?

        @usableFromInline
        init(
            _ delivery: Delivery?,
            isBare: Bool,
            isOnce: Bool,
            _ buffering: BufferingPolicy?,
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
    /// What the listener is called on, if the extras do not say something else.
    @usableFromInline let isolation: (any Actor)?
    @usableFromInline let priority: Priority
    @usableFromInline let site: PackedSite
    @usableFromInline var call: BareCall
    @usableFromInline var extras: Extras?

    @inlinable
    init(_ owner: AnyObject?, _ delivery: Delivery, _ options: ListenerOptions, isBare: Bool = false, _ call: BareCall)
    {
        self.owner = owner
        priority = options.priority
        site = options.site
        self.call = call
        if case .isolated(let actor) = delivery {
            isolation = actor
            if !options.isOnce, case nil = options.buffering {
                extras = isBare ? nil : .general
            } else {
                extras = Extras(nil, isBare: isBare, isOnce: options.isOnce, options.buffering)
            }
        } else {
            isolation = nil
            extras = Extras(delivery, isBare: isBare, isOnce: options.isOnce, options.buffering)
        }
    }
}

extension Registration {
    var delivery: Delivery {
        get { extras?.delivery ?? .isolated(isolation) }
        set { extras = Extras(newValue, isBare: isBare, isOnce: isOnce, buffering, adaptor) }
    }

    var isBare: Bool {
        get { extras?.isBare ?? true }
        set { extras = Extras(extras?.delivery, isBare: newValue, isOnce: isOnce, buffering, adaptor) }
    }

    var isOnce: Bool { extras?.isOnce ?? false }

    var buffering: BufferingPolicy? {
        get { extras?.buffering }
        set { extras = Extras(extras?.delivery, isBare: isBare, isOnce: isOnce, newValue, adaptor) }
    }

    /// What the listener hears instead of the messages of the source.
    var adaptor: Adaptor? {
        get { extras?.adaptor }
        set { extras = Extras(extras?.delivery, isBare: isBare, isOnce: isOnce, buffering, newValue) }
    }

    var isInterceptor: Bool { if case .interceptor? = extras?.delivery { true } else { false } }

    @usableFromInline
    var isSequence: Bool { if case .sequence? = extras?.delivery { true } else { false } }
}
