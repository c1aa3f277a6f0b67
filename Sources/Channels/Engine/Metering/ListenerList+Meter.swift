// Metering: what is counted and traced of a channel while its diagnostics are on.
//
// A post reads one word to find that they are off. While they are on, it takes the way of `postMetered`: `ChannelMeter`
// counts posts and keeps texts of messages (`MessageText`), listeners count in their `ListenerCounters`, and a traced
// message carries a `PostTrace`. Instruments are called without locks. Diagnostics, above, shows what was counted.

internal import Synchronization

extension ListenerList {
    /// Whether diagnostics are on, so that posts are counted.
    @inline(__always)
    var isMetered: Bool { meterWord.load(ordering: .relaxed) & Self.meterIsOn != 0 }

    /// Set in the word while diagnostics are on. Objects are 16 bytes apart.
    private static var meterIsOn: UInt { 1 }

    /// What is counted, if anything ever was. Kept until the list's `deinit`.
    var knownMeter: Unretained<ChannelMeter>? {
        Unretained(address: meterWord.load(ordering: .acquiring) & ~Self.meterIsOn)
    }

    /// Whether anything was ever counted, or the channel is watched.
    var wasMetered: Bool { meterWord.load(ordering: .relaxed) != 0 }

    /// Where posts are counted; nil while diagnostics are off.
    var meter: ChannelMeter? { isMetered ? knownMeter?.object : nil }

    /// The list counts as its channel was told to when it was created.
    @inline(never)
    func measure(own diagnostics: Diagnostics) {
        guard diagnostics.isOn else { return }
        _ = makeMeter(diagnostics)
        measure { diagnostics }
    }

    func releaseMeter() { knownMeter?.release() }

    /// Changes what is counted and recorded, beside any number of posts.
    ///
    /// A post under way is counted in part.
    ///
    /// - Parameters:
    ///   - diagnostics: Asked under the meter's lock: of two threads, the later one sets the later value.
    ///   - name: Under which the channel is watched, if it has no name.
    func measure(_ instruments: Instruments? = nil, named name: String? = nil, _ diagnostics: () -> Diagnostics) {
        // One that is watched has a meter for its name, and for those who are told of its faults.
        guard wasMetered || name != nil || diagnostics().isOn else { return }
        let meter = knownMeter ?? makeMeter(.off)
        if !isMetered { prepareCounters(isReset: true) }
        meter.borrow { known in
            known.set(instruments, named: name, diagnostics) { isOn in
                meterWord.store(meter.address | (isOn ? Self.meterIsOn : 0), ordering: .releasing)
            }
        }
        // Those that are registered meanwhile either see that posts are counted, or are met here.
        if isMetered { prepareCounters(isReset: false) }
    }

    /// Gives every listener its counters, or resets those that there are.
    @inline(never)
    private func prepareCounters(isReset: Bool) {
        forEachEntry { if isReset { $0.resetCounters() } else { _ = $0.ensureCounters() } }
    }

    private func makeMeter(_ own: Diagnostics) -> Unretained<ChannelMeter> {
        let made = Unretained.retaining(ChannelMeter(own))
        let (isFirst, known) = meterWord.compareExchange(
            expected: 0,
            desired: made.address,
            ordering: .acquiringAndReleasing
        )
        if isFirst { return made }
        made.release()
        // Set by another thread, and kept from then on.
        return Unretained(address: known & ~Self.meterIsOn)!
    }
}

// MARK: - Posting

extension ListenerList {
    /// Delivers a message, within the instruments if the channel is traced, and counts it.
    @inline(never)
    func postMetered(_ message: MessageAddress, _ post: Post) -> Int {
        var frame = PostFrame(self, message, post)
        defer { frame.end() }
        return frame.lend { postMetered($0) }
    }

    @inline(never)
    func postMetered(_ frame: FrameReference) -> Int {
        let thread = ThreadReference.current
        if let refused = begin(frame, thread) { return refused }
        let reached = deliverMetered(frame)
        if frame.pointee.hasExtras { deliverQueued(frame) }
        return reached
    }

    /// Delivers the message of a frame, counted and traced if diagnostics are on.
    @inline(never)
    func deliverMetered(_ frame: FrameReference) -> Int {
        meter(frame) {
            withPost(frame, .current) {
                // All of it is counted, which is not for the loop of other posts.
                if frame.pointee.isTurn { return deliverSlowToAll(frame) }
                frame.pointee.number = nextNumber.load(ordering: .sequentiallyConsistent)
                return interceptorCount.load(ordering: .acquiring) > 0
                    ? interceptAndDeliver(frame) : deliverSlowToAll(frame)
            }
        }
    }

    /// Counts a post, and traces it, if diagnostics are on, around its delivery.
    func meter(_ frame: FrameReference, _ deliver: () -> Int) -> Int {
        guard let meter else { return deliver() }
        meter.countPost()
        let traces = meter.traces
        if traces || frame.pointee.hasExtras {
            frame.pointee.slowPath = .all
        } else if frame.pointee.slowPath == .none {
            frame.pointee.slowPath = .counting
        }
        let reached = traces ? trace(frame, meter, deliver) : deliver()
        if frame.pointee.isTurn ? hasNoListenerNow : reached == 0 {
            meter.unheard.wrappingAdd(1, ordering: .relaxed)
        }
        return reached
    }

    private func trace(_ frame: FrameReference, _ meter: ChannelMeter, _ deliver: () -> Int) -> Int {
        let (message, former) = (frame.pointee.message, frame.pointee.envelope)
        if frame.pointee.isTurn, let event = former?.trace?.event { meter.keep(message, layout, event) }
        // One that has a trace was traced where it came from: it is forwarded, or a value of a state. What a pattern
        // hears without one was not to be traced.
        guard former?.trace == nil, kind != .pattern else { return deliver() }
        let sender = frame.pointee.sender?.living
        let senderType: (any Any.Type)? = (sender ?? former?.sender).map { type(of: $0) }
        var reached = 0
        withTrace(message, meter, senderType, former?.origin ?? .local, at: frame.pointee.site) { trace in
            frame.pointee.envelope = Envelope(
                // Observers of a protocol have no mailbox, to which a sender would have to be Sendable.
                sender: kind == .protocol ? nil : former?.sender ?? sender.map { sendable($0) },
                origin: former?.origin ?? .local,
                tracker: former?.tracker,
                trace: trace
            )
            reached = deliver()
        }
        return reached
    }

    /// Traces a value of a state, if diagnostics say so, before it is stored and offered to mailboxes.
    ///
    /// - Parameter body: Is given the post with the envelope that is to travel. Called in any case.
    func traceState(_ post: Post, _ body: (Post) -> Void) {
        let envelope = post.envelope
        guard let meter, meter.traces, envelope?.trace == nil else { return body(post) }
        let origin = envelope?.origin ?? .local
        withTrace(nil, meter, envelope?.sender.map { type(of: $0) }, origin, at: post.site) { trace in
            let traced = Envelope(sender: envelope?.sender, origin: origin, tracker: envelope?.tracker, trace: trace)
            body(Post(post, traced))
        }
    }

    /// Counts a request, and traces it if diagnostics say so: instruments are called with nothing in between,
    /// because it is asynchronous.
    func traceRequest(_ type: any Any.Type, at site: PackedSite) -> PostTrace? {
        guard let meter else { return nil }
        meter.countPost()
        guard meter.traces else { return nil }
        var trace: PostTrace?
        withTrace(nil, meter, nil, .local, of: type, at: site) { trace = $0 }
        return trace
    }

    /// Nobody responds.
    func noteUnheard() { meter?.unheard.wrappingAdd(1, ordering: .relaxed) }

    /// Traces a post. Within an instrument it is not traced, and the body is given nil.
    private func withTrace(
        _ message: MessageAddress?,
        _ meter: ChannelMeter,
        _ senderType: (any Any.Type)?,
        _ origin: Origin,
        of type: (any Any.Type)? = nil,
        at site: PackedSite = .unknown,
        _ deliver: (PostTrace?) -> Void
    ) {
        guard let event = note(message, meter, senderType, origin, type, site) else { return deliver(nil) }
        PostTrace.post(event, to: meter.instruments?.all ?? []) { deliver($0) }
    }

    /// Records a post; nil within an instrument.
    ///
    /// - Parameter type: The type of the messages, where it is not that of what is handed to listeners.
    @inline(never)
    private func note(
        _ message: MessageAddress?,
        _ meter: ChannelMeter,
        _ senderType: (any Any.Type)?,
        _ origin: Origin,
        _ type: (any Any.Type)?,
        _ site: PackedSite
    ) -> PostEvent? {
        guard !ThreadReference.current.pointee.isInInstrument else { return nil }
        let event = PostEvent(
            channelName: meter.name ?? displayName,
            channelKind: kind,
            messageType: type ?? (kind == .protocol ? channelType : layout.type),
            senderType: senderType,
            site: site == .unknown ? nil : site.site,
            origin: origin
        )
        meter.notePoster(senderType, site)
        // The others carry what calls a responder or an observer.
        if let message, kind == .messages || kind == .state { meter.keep(message, layout, event) }
        return event
    }
}

extension ListenerList {
    /// Calls a listener on the current thread, within the instruments if its message is traced.
    @inline(__always)
    func run(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ trace: PostTrace?
    ) {
        guard let trace else { return listener.run(message, owner, frame) }
        runTraced(listener, message, owner, frame, trace)
    }

    @inline(never)
    private func runTraced(
        _ listener: ListenerEntry,
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ trace: PostTrace
    ) {
        trace.deliver(to: listener) { listener.run(message, owner, frame) }
    }
}

// MARK: - Listeners

extension Mailbox {
    /// Notes how many messages wait, after one more has been let in.
    func noteWaiting() { noteWaiting(accounts.waiting) }
}

extension ListenerEntry {
    /// Counting begins. What is counted always goes on.
    func resetCounters() {
        counters?.borrow { counters in
            let word = word.load(ordering: .relaxed)
            let isAlwaysCounted = word & (Self.waits | Self.counted) != 0 && counters.responderCalls == nil
            counters.reset(withCalls: !isAlwaysCounted)
        }
    }
}
