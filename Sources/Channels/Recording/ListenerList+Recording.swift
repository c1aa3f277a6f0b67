internal import Synchronization

extension ListenerList {
    /// The recorder, if diagnostics were ever on or the channel is watched. Nothing else is a list's instrument.
    var recorder: Recorder? { instrument as? Recorder }

    private var activeRecorder: Recorder? { activeInstrument as? Recorder }

    /// Makes a list that counts and records as the channel is told to when it is created.
    convenience init(
        layout: MessageLayout,
        of channelType: any Any.Type,
        kind: ChannelKind,
        name: String? = nil,
        reentrancy: Reentrancy = .standard,
        faults: FaultReporter,
        diagnostics: Diagnostics
    ) {
        self.init(layout: layout, of: channelType, kind: kind, name: name, reentrancy: reentrancy, faults: faults)
        guard diagnostics.isOn else { return }
        _ = setInstrument(Recorder(diagnostics))
        measure { diagnostics }
    }

    /// Changes what is counted and recorded. A post in progress is counted in part.
    ///
    /// - Parameters:
    ///   - diagnostics: Called under the recorder's lock: of two threads, the later one sets the later value.
    ///   - name: The name under which the channel is watched, if it has none.
    func measure(_ instruments: Instruments? = nil, named name: String? = nil, _ diagnostics: () -> Diagnostics) {
        // A watched channel needs a recorder for its name and for the instruments that receive its faults.
        guard instrument != nil || name != nil || diagnostics().isOn else { return }
        let recorder = recorder ?? setInstrument(Recorder(.off)) as? Recorder
        if !isObserved { forEachEntry { $0.resetRecord() } }
        recorder?.set(instruments, named: name, diagnostics) { setObserved($0) }
    }

    /// Traces a value of a state before it is stored and enqueued. Calls the body with the post to deliver.
    func traceState(_ post: PostOptions, _ body: (PostOptions) -> Void) {
        let envelope = post.envelope
        guard let recorder = activeRecorder, recorder.traces, envelope?.trace == nil else { return body(post) }
        let (origin, sender) = (envelope?.origin ?? .local, envelope?.sender)
        recorder.withTrace(nil, self, sender.map { type(of: $0) }, origin, at: post.site) { trace in
            let traced = envelope?.copy(named: name, tracker: envelope?.tracker, trace: trace)
            body(PostOptions(post, traced ?? Envelope(name, trace: trace)))
        }
    }

    /// Counts a request. If it is traced, instruments are called around nothing: a request is async.
    func traceRequest(_ type: any Any.Type, at site: PackedSite) -> (any MessageTrace)? {
        guard let recorder = activeRecorder else { return nil }
        recorder.countPost()
        guard recorder.traces else { return nil }
        var trace: PostTrace?
        recorder.withTrace(nil, self, nil, .local, of: type, at: site) { trace = $0 }
        return trace
    }

    func noteUnreceived() { activeRecorder?.noteUnreceived() }
}
