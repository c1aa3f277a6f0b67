internal import Synchronization

extension Recorder {
    func post(_ frame: FrameReference, on list: ListenerList, _ deliver: () -> Int) -> Int {
        countPost()
        frame.pointee.checksAll = true
        let reached = traces ? trace(frame, list, deliver) : deliver()
        if frame.pointee.isTurn ? list.hasNoListenerNow : reached == 0 { noteUnreceived() }
        return reached
    }

    func noteUnreceived() { unreceived.wrappingAdd(1, ordering: .relaxed) }

    private func trace(_ frame: FrameReference, _ list: ListenerList, _ deliver: () -> Int) -> Int {
        let (message, former) = (frame.pointee.message, frame.pointee.envelope)
        if frame.pointee.isTurn, let trace = former?.trace as? PostTrace { keep(message, list.layout, trace.event) }
        // A message with a trace was already traced where it was posted: it was forwarded, or is a value of a
        // state. A message that reaches a pattern without a trace was not meant to be traced.
        guard former?.trace == nil, list.kind != .pattern else { return deliver() }
        let sender = frame.pointee.sender?.living
        let senderType: (any Any.Type)? = (sender ?? former?.sender).map { type(of: $0) }
        var reached = 0
        withTrace(message, list, senderType, former?.origin ?? .local, at: frame.pointee.site) { trace in
            // Observers of a protocol have no mailbox, so their sender need not be Sendable.
            let sender = list.kind == .protocol ? nil : sender.map { sendable($0) }
            let traced = former?.copy(named: list.name, tracker: former?.tracker, trace: trace)
            frame.pointee.envelope = traced ?? Envelope(list.name, sender: sender, trace: trace)
            reached = deliver()
        }
        return reached
    }

    /// Traces a post. Inside an instrument, passes nil to the body and does not trace.
    /// - Parameter type: The type of the messages, if listeners receive another type.
    func withTrace(
        _ message: MessageAddress?,
        _ list: ListenerList,
        _ senderType: (any Any.Type)?,
        _ origin: Origin,
        of type: (any Any.Type)? = nil,
        at site: PackedSite,
        _ deliver: (PostTrace?) -> Void
    ) {
        guard !ThreadReference.current.pointee.isInInstrument else { return deliver(nil) }
        let event = PostEvent(
            channelName: name ?? list.displayName,
            channelKind: list.kind,
            messageType: type ?? (list.kind == .protocol ? list.channelType : list.layout.type),
            senderType: senderType,
            site: site == .unknown ? nil : site.site,
            origin: origin
        )
        notePoster(senderType, site)
        // For other kinds, the message is a closure that calls a responder or an observer.
        if let message, list.kind == .messages || list.kind == .state { keep(message, list.layout, event) }
        PostTrace.post(event, to: instruments?.all ?? []) { deliver($0) }
    }
}
