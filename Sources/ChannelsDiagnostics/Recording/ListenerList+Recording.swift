internal import Channels

extension ListenerList {
    /// The recorder; nil unless diagnostics were ever on or the channel is watched. A list has no other kind
    /// of instrument.
    var recorder: Recorder? { instrument as? Recorder }

    /// Changes what is counted and recorded. A post in progress is counted partially.
    ///
    /// - Parameters:
    ///   - diagnostics: Called under the recorder's lock, so that the thread that comes later sets the later
    ///     value.
    ///   - name: The name under which the channel is watched, if it has none.
    func measure(_ instruments: Instruments, named name: String?, _ diagnostics: () -> Switchboard.Diagnostics) {
        // A watched channel needs a recorder for its name and for the instruments that receive its faults.
        guard instrument != nil || name != nil || diagnostics().isOn else { return }
        let recorder = recorder ?? setInstrument(Recorder()) as? Recorder
        if !isObserved { forEachEntry { $0.resetRecord() } }
        recorder?.set(instruments, named: name, diagnostics) { setObserved($0) }
    }
}
