// Metering: counting and tracing a channel while its diagnostics are on.
//
// A post reads one word to find that they are off. While they are on it takes `postMetered`: `ChannelMeter`
// counts posts and keeps texts of messages (`MessageText`), listeners count in their `ListenerCounters`, and
// a traced message carries a `PostTrace`. Instruments are called without locks. Diagnostics, above, shows them.

internal import Synchronization

extension ListenerList {
    @inline(__always)
    var isMetered: Bool { meterWord.load(ordering: .relaxed) & Self.meterIsOn != 0 }

    /// A flag in the word that also holds the meter's address; objects are aligned to 16 bytes.
    private static var meterIsOn: UInt { 1 }

    /// The meter, if diagnostics were ever on or the channel is watched. Kept until the list's `deinit`.
    var knownMeter: Unretained<ChannelMeter>? {
        Unretained(address: meterWord.load(ordering: .acquiring) & ~Self.meterIsOn)
    }

    var wasMetered: Bool { meterWord.load(ordering: .relaxed) != 0 }

    /// The meter while diagnostics are on; otherwise nil.
    var meter: ChannelMeter? { isMetered ? knownMeter?.object : nil }

    /// Starts counting as the channel was told to when it was created.
    @inline(never)
    func measure(own diagnostics: Diagnostics) {
        guard diagnostics.isOn else { return }
        _ = makeMeter(diagnostics)
        measure { diagnostics }
    }

    func releaseMeter() { knownMeter?.release() }

    /// Changes what is counted and recorded. A post in progress is counted in part.
    ///
    /// - Parameters:
    ///   - diagnostics: Called under the meter's lock: of two threads, the later one sets the later value.
    ///   - name: The name under which the channel is watched, if it has none.
    func measure(_ instruments: Instruments? = nil, named name: String? = nil, _ diagnostics: () -> Diagnostics) {
        // A watched channel needs a meter for its name and for the instruments that receive its faults.
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
        // Another thread was first.
        return Unretained(address: known & ~Self.meterIsOn)!
    }
}

extension ListenerList {
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
        if frame.pointee.hasQueue { deliverQueued(frame) }
        return reached
    }

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

    /// Counts and traces the delivery of a post if diagnostics are on.
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
        // A value of a state that has a trace was already traced where it was set.
        guard former?.trace == nil else { return deliver() }
        let sender = frame.pointee.sender?.living
        let senderType: (any Any.Type)? = (sender ?? former?.sender).map { type(of: $0) }
        var reached = 0
        withTrace(message, meter, senderType, former?.origin ?? .local, at: frame.pointee.site) { trace in
            frame.pointee.envelope = Envelope(
                // Observers of a protocol have no mailbox, so their sender need not be Sendable.
                sender: kind == .protocol ? nil : former?.sender ?? sender.map { sendable($0) },
                origin: former?.origin ?? .local,
                tracker: former?.tracker,
                trace: trace
            )
            reached = deliver()
        }
        return reached
    }

    /// Traces a value of a state before it is stored and enqueued. Calls the body with the post to deliver.
    func traceState(_ post: Post, _ body: (Post) -> Void) {
        let envelope = post.envelope
        guard let meter, meter.traces, envelope?.trace == nil else { return body(post) }
        let origin = envelope?.origin ?? .local
        withTrace(nil, meter, envelope?.sender.map { type(of: $0) }, origin, at: post.site) { trace in
            let traced = Envelope(
                sender: envelope?.sender,
                origin: origin,
                delivery: envelope?.delivery,
                tracker: envelope?.tracker,
                trace: trace
            )
            body(Post(post, traced))
        }
    }

    /// Counts a request. If it is traced, instruments are called around nothing: a request is async.
    func traceRequest(_ type: any Any.Type, at site: PackedSite) -> PostTrace? {
        guard let meter else { return nil }
        meter.countPost()
        guard meter.traces else { return nil }
        var trace: PostTrace?
        withTrace(nil, meter, nil, .local, of: type, at: site) { trace = $0 }
        return trace
    }

    func noteUnheard() { meter?.unheard.wrappingAdd(1, ordering: .relaxed) }

    /// Traces a post. Inside an instrument, passes nil to the body and does not trace.
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

    /// Records a post; returns nil inside an instrument. `type` is the type of the messages, if listeners
    /// receive another type.
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
        // For other kinds, the message is a closure that calls a responder or an observer.
        if let message, kind == .messages || kind == .state { meter.keep(message, layout, event) }
        return event
    }
}

extension ListenerList {
    /// Calls a listener on the current thread, surrounded by the instruments if its message is traced.
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

extension Mailbox {
    /// Records how many messages wait after one was enqueued.
    func noteWaiting() { noteWaiting(accounts.waiting) }
}

extension ListenerEntry {
    /// Resets what is counted only while diagnostics are on.
    func resetCounters() {
        counters?.borrow { counters in
            let word = word.load(ordering: .relaxed)
            let isAlwaysCounted = word & (Self.waits | Self.counted) != 0 && counters.responderCalls == nil
            counters.reset(withCalls: !isAlwaysCounted)
        }
    }
}
