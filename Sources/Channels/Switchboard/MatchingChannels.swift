/// The channels of a switchboard whose name matches a pattern, or all of them.
struct MatchingChannels: Listenable {
    let switchboard: Switchboard
    /// The pattern; nil for all channels.
    let pattern: ChannelPattern?
    var kinds = PatternListener.Kinds.all

    func register(
        _ listener: consuming Listener<Posted<any Sendable>>,
        isolation: isolated (any Actor)?
    ) -> ListenerToken {
        switchboard.register(listener.registration, matching: pattern, hearing: kinds)
    }
}

extension Switchboard {
    /// Every channel whose name matches a pattern, including those created later.
    ///
    /// ```swift
    /// let log = board[matching: "shop.*"].listen { post in print(post.channelName ?? "", post.message) }
    /// ```
    ///
    /// A listener takes its place among each channel's own listeners, in order of priority, then of registration, and
    /// is included in the result of `post`. It receives messages, including those posted on the channel object itself,
    /// and the values of named states, but neither requests nor protocol notifications. It has one token and at most
    /// one mailbox, and does not keep channels alive. Channels without a name, such as `board[Checkout.self]`, match no
    /// pattern: see ``posts``.
    ///
    /// - Complexity: Registering a listener is O(*n*) in the number of names of the switchboard.
    public subscript(matching pattern: ChannelPattern) -> some Listenable<Posted<any Sendable>> {
        MatchingChannels(switchboard: self, pattern: pattern)
    }

    /// The messages of all channels on this switchboard, whether they have a name or a type, and the values of its
    /// named states. Requests and protocol notifications are not included.
    ///
    /// ```swift
    /// let log = board.posts.listen { post in print(post.channelName ?? "", post.message) }
    /// ```
    ///
    /// A listener behaves like one of a pattern that matches every channel: see ``subscript(matching:)``.
    public var posts: some Listenable<Posted<any Sendable>> { MatchingChannels(switchboard: self, pattern: nil) }

    func register(_ listener: Registration, matching pattern: ChannelPattern?, hearing kinds: PatternListener.Kinds)
        -> ListenerToken
    {
        let patternListener = PatternListener(listener, matching: pattern, hearing: kinds, faults)
        let hub = patternListener.hub
        hub.delegate = HubDelegate(patternListener, reference)
        let entry = patternListener.listener
        // Inserted directly, so that the delegate does not see the hub before it has its listener.
        hub.insert(entry, priority: listener.priority.rawValue)
        patterns.add(patternListener, to: registry)
        instrument?.apply(to: hub)
        hub.didUnlock()
        // The owner may be in its deinit, and no post would notice that, because nothing is posted on the hub.
        if entry.isOrphan { entry.cancel() }
        // The listener may have ended before the delegate could find it.
        if hub.isEmptyNow { patterns.remove(patternListener) }
        return entry.makeToken()
    }
}

/// Removes a pattern's listener from the channels when it has ended.
private final class HubDelegate: ListenerListDelegate, @unchecked Sendable {  // written in the initializer only
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
            // Loaded in this scope only, because the task would keep the listener that it waits for.
            if let listener { listener.resumeAtEnd(waiter) } else { waiter.resume() }
        }
    }
}
