internal import Channels
internal import Synchronization

extension Recorder {
    func post(_ frame: FrameReference, on list: ListenerList, _ deliver: () -> Int) -> Int {
        countPost()
        return traces ? trace(frame, list, deliver) : deliver()
    }

    func traceState(
        on list: ListenerList,
        from senderType: (any Any.Type)?,
        _ origin: MessageOrigin,
        at site: PackedSite,
        _ body: ((any MessageTrace)?) -> Void
    ) {
        guard traces else { return body(nil) }
        withTrace(nil, list, senderType, origin, at: site, body)
    }

    /// Counts a request. If it is traced, instruments are called around an empty body, because a request is
    /// async.
    func traceRequest(
        _ type: any Any.Type,
        on list: ListenerList,
        at site: PackedSite
    ) -> (any MessageTrace)? {
        countPost()
        guard traces else { return nil }
        var trace: PostTrace?
        withTrace(nil, list, nil, .local, of: type, at: site) { trace = $0 }
        return trace
    }

    func noteUnreceived() { unreceived.wrappingAdd(1, ordering: .relaxed) }

    private func trace(_ frame: FrameReference, _ list: ListenerList, _ deliver: () -> Int) -> Int {
        let former = frame.trace
        if frame.isTurn, let trace = former as? PostTrace { keep(frame, of: list, trace.event) }
        // A message with a trace was traced when it was posted, and is now forwarded or a value of a state. A
        // message that reaches a pattern without a trace was not meant to be traced.
        guard former == nil, list.kind != .pattern else { return deliver() }
        let senderType: (any Any.Type)? = frame.livingSender.map { type(of: $0) }
        var reached = 0
        withTrace(frame, list, senderType, frame.origin, at: frame.site) { trace in
            list.carry(trace, with: frame)
            reached = deliver()
        }
        return reached
    }

    /// Traces a post. Inside an instrument, passes nil to the body and does not trace.
    /// - Parameter type: The type of the messages, if listeners receive a different type.
    func withTrace(
        _ frame: FrameReference?,
        _ list: ListenerList,
        _ senderType: (any Any.Type)?,
        _ origin: MessageOrigin,
        of type: (any Any.Type)? = nil,
        at site: PackedSite,
        _ deliver: (PostTrace?) -> Void
    ) {
        guard !CurrentThread.isInInstrument else { return deliver(nil) }
        let event = PostEvent(
            channelName: name ?? list.displayName,
            channelKind: list.kind,
            messageType: type ?? (list.kind == .protocol ? list.channelType : list.messageType),
            senderType: senderType,
            site: site == .unknown ? nil : site.site,
            origin: origin
        )
        notePoster(senderType, site)
        // For other kinds, the message is a closure that calls a responder or an observer.
        if let frame, list.kind == .messages || list.kind == .state { keep(frame, of: list, event) }
        PostTrace.post(event, to: instruments?.all ?? []) { deliver($0) }
    }
}
