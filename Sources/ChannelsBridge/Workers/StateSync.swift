/// How one state here and the last value at the broker are kept the same: the transitions, without locks.
///
/// The broker's order decides. What is set here is stored, and while it is on its way, values of others wait,
/// because it comes after them or they come after it: the revision tells. Only the newest value of either
/// side matters.
struct StateSync<Local, Remote> {
    enum Action {
        /// Store this value at the broker, then say ``stored(_:)`` or ``refused()`` or ``postponed(_:)``.
        case store(Local)
        /// Set this value here, as one that came from elsewhere; then say ``notApplied()`` where that was not
        /// possible.
        case apply(Remote)
    }

    /// Set here and not stored yet.
    private var local: Local?
    /// Came from the broker and not set here yet.
    private var remote: (value: Remote, revision: UInt64)?
    /// The revision of the value last stored or set.
    private var revision: UInt64 = 0
    private var isStoring = false
    /// Whether a value that came was set here, and the listener has not heard it yet.
    private var isApplying = false
    /// Whether there is a listener.
    private var isListening = false

    /// Whether everything set here is stored.
    var isSettled: Bool { local == nil && !isStoring }

    /// A value was set in this process.
    ///
    /// - Returns: What it replaces, to be released without a lock.
    mutating func setHere(_ value: Local) -> Local? {
        defer { local = value }
        return local
    }

    /// The listener heard a value that came from the broker: what was set here before it has been replaced
    /// here, too.
    mutating func heardRemote() -> Local? {
        isApplying = false
        return local.take()
    }

    /// A listener is going to say ``setHere(_:)`` and ``heardRemote()``.
    mutating func beginListening() {
        isListening = true
    }

    /// No listener says anything any more.
    mutating func endListening() {
        (isListening, isApplying) = (false, false)
    }

    /// The value to apply was not set here.
    mutating func notApplied() {
        isApplying = false
    }

    /// The broker has a value.
    ///
    /// - Returns: What is of no account any more, to be released without a lock.
    mutating func arrived(_ value: Remote, revision: UInt64) -> Remote? {
        guard revision > self.revision, revision > remote?.revision ?? 0 else { return value }
        defer { remote = (value, revision) }
        return remote?.value
    }

    /// What to do next; nil where there is nothing, or a value is on its way.
    mutating func next() -> Action? {
        // What is heard before the value that is being set here was set before it: whether it is to be stored
        // is not known yet.
        guard !isStoring, !isApplying else { return nil }
        if let local {
            self.local = nil
            isStoring = true
            return .store(local)
        }
        guard let remote else { return nil }
        self.remote = nil
        guard remote.revision > revision else { return nil }
        revision = remote.revision
        isApplying = isListening
        return .apply(remote.value)
    }

    /// The value on its way was stored under a revision.
    mutating func stored(_ revision: UInt64) {
        isStoring = false
        self.revision = max(self.revision, revision)
    }

    /// The value on its way cannot be stored, ever.
    mutating func refused() {
        isStoring = false
    }

    /// The value on its way could not be stored yet: again, unless it has been replaced.
    ///
    /// - Returns: It, where it has been, to be released without a lock.
    mutating func postponed(_ value: Local) -> Local? {
        isStoring = false
        guard local == nil else { return value }
        local = value
        return nil
    }
}
