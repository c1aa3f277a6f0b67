extension ListenerList {
    /// Delivers inside the instrument, if the list still reports to it.
    @inline(__always)
    func insideInstrument(_ frame: FrameReference, _ deliver: () -> Int) -> Int {
        guard let activeInstrument else { return deliver() }
        frame.pointee.checksAll = true
        let reached = activeInstrument.post(frame, on: self, deliver)
        if frame.pointee.isTurn ? hasNoListenerNow : reached == 0 { activeInstrument.noteUnreceived() }
        return reached
    }

    /// Traces a value of a state before it is stored and enqueued. Calls the body with the post to deliver.
    func traceState(_ post: PostOptions, _ body: (PostOptions) -> Void) {
        let former = post.envelope
        guard let activeInstrument, former?.trace == nil else { return body(post) }
        let (senderType, origin) = (former?.sender.map { type(of: $0) }, former?.origin ?? .local)
        activeInstrument.traceState(on: self, from: senderType, origin, at: post.site) { trace in
            guard let trace else { return body(post) }
            let traced = former?.copy(named: name, tracker: former?.tracker, trace: trace)
            body(PostOptions(post, traced ?? Envelope(name, trace: trace)))
        }
    }

    /// Attaches a trace to the message of a post.
    package func carry(_ trace: (any MessageTrace)?, with frame: FrameReference) {
        let former = frame.pointee.envelope
        // Observers of a protocol have no mailbox, so their sender need not be Sendable.
        let sender = kind == .protocol ? nil : frame.pointee.sender?.living.map { sendable($0) }
        let traced = former?.copy(named: name, tracker: former?.tracker, trace: trace)
        frame.pointee.envelope = traced ?? Envelope(name, sender: sender, trace: trace)
    }

    /// The message of a post.
    package func boxedMessage(of frame: FrameReference) -> any Sendable { layout.boxed(frame.pointee.message) }
}
