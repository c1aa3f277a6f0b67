/// Every channel of a switchboard whose name matches a pattern, including those created later.
///
/// ```swift
/// let log = board[matching: "shop.*"].listen { post in print(post.channelName ?? "", post.message) }
/// ```
///
/// A listener takes its place by priority and registration among each channel's own listeners, and counts in
/// the result of `post`. It receives posts made on the channel itself and values of named states, but not
/// requests. It has one token and at most one mailbox, and does not keep channels alive. Channels without a
/// name, such as `board[Checkout.self]`, match no pattern.
public struct MatchingChannels: Listenable {
    /// A message of any of the channels with its sender, channel name and origin.
    public typealias Message = Posted<any Sendable>

    private let switchboard: Switchboard
    /// The pattern.
    public let pattern: ChannelPattern

    init(_ switchboard: Switchboard, _ pattern: ChannelPattern) {
        self.switchboard = switchboard
        self.pattern = pattern
    }

    /// Registers a listener on every channel that matches.
    /// - Complexity: O(*n*) in the number of names of the switchboard.
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        require(
            !listener.registration.isInterceptor,
            "the channels of the pattern \(quoted(pattern.text)) cannot be intercepted: write 'intercept' on each channel"
        )
        return switchboard.register(listener.registration, matching: pattern)
    }
}

/// Everything posted on a switchboard: the messages of named channels and of channels of a type, and the
/// values of named states.
///
/// ```swift
/// let log = board.posts.listen { post in print(post.channelName ?? "", post.message) }
/// ```
///
/// Behaves like ``MatchingChannels`` for a pattern that matches every channel. Requests and protocol
/// notifications are not included.
public struct SwitchboardPosts: Listenable {
    /// A message of any of the channels, with the channel's name and who posted it.
    public typealias Message = Posted<any Sendable>

    private let switchboard: Switchboard

    init(_ switchboard: Switchboard) { self.switchboard = switchboard }

    /// Registers a listener on every channel.
    /// - Complexity: O(*n*) in the number of channels of the switchboard.
    public func register(_ listener: consuming Listener<Message>, isolation: isolated (any Actor)?) -> ListenerToken {
        require(
            !listener.registration.isInterceptor,
            "the posts of a switchboard cannot be intercepted: write 'intercept' on each channel"
        )
        return switchboard.register(listener.registration, matching: nil)
    }
}

extension Switchboard {
    /// Every channel whose name matches a pattern, including those created later.
    public subscript(matching pattern: ChannelPattern) -> MatchingChannels {
        MatchingChannels(self, pattern)
    }

    /// Everything posted on this switchboard, except requests and protocol notifications.
    public var posts: SwitchboardPosts { SwitchboardPosts(self) }

    func register(
        _ listener: Registration,
        matching pattern: ChannelPattern?,
        intake: Forwarder.Intake? = nil
    ) -> ListenerToken {
        let patternListener = PatternListener(
            listener,
            matching: pattern,
            faults,
            intake: intake
        )
        let hub = patternListener.hub
        hub.delegate = HubDelegate(patternListener, reference)
        let entry = patternListener.listener
        // Inserted directly, so that the delegate does not see the hub before it has its listener.
        hub.insert(entry, priority: listener.priority.rawValue)
        patterns.add(patternListener, to: registry)
        observation.apply(to: hub)
        hub.didUnlock()
        // Its owner may be in its deinit, and no post to the hub would notice.
        if entry.isOrphan { entry.cancel() }
        // It may have ended before the delegate could find the listener.
        if hub.isEmptyNow { patterns.remove(patternListener) }
        return entry.makeToken()
    }
}

/// Removes a pattern's listener from the channels when it has ended.
private final class HubDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initialiser only
    private weak var listener: PatternListener?
    private let reference: SwitchboardReference

    init(_ listener: PatternListener, _ reference: SwitchboardReference) {
        self.listener = listener
        self.reference = reference
    }

    func didChangeListening(in hub: ListenerList) {
        guard hub.isEmptyNow, let listener else { return }
        reference.patterns?.remove(listener)
    }

    func waitForForwarders() async {
        await withCheckedContinuation { waiter in
            // In this scope only, not in the task: that would keep the listener that it waits for.
            if let listener { listener.resumeAtEnd(waiter) } else { waiter.resume() }
        }
    }
}
