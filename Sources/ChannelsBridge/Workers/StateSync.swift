/// Synchronizes a state in this process with the last value at the broker: the transitions, without locks.
///
/// The broker's order decides. While a value set here is being stored, values from others are held back,
/// because only the revision says which comes first. Only the newest value of either side matters.
struct StateSync<Local, Remote> {
    enum Action {
        /// Store this value at the broker, then call ``stored(_:)``, ``replaced()``, ``refused(_:)`` or
        /// ``postponed(_:)``.
        case store(Local)
        /// Set this value here as a value from another process. Call ``applying()`` right before, and
        /// ``notApplied()`` if it was not set.
        case apply(Remote)
    }

    /// The value set here that is not stored yet.
    private var local: Local?
    /// Whether that value was refused, and waits for another connection.
    private var isHeldBack = false
    /// The value from the broker that is not set here yet.
    private var remote: (value: Remote, revision: UInt64)?
    /// The revision of the value last stored or set.
    private var revision: UInt64 = 0
    private var isStoring = false
    /// Whether a value from the broker is being set here and the listener has not received it yet.
    private var isApplying = false
    /// Whether there is a listener that calls ``setHere(_:)`` and ``heardRemote()``.
    var isListening = false { didSet { isApplying = false } }

    /// Whether everything set here is stored, or was refused.
    var isSettled: Bool { (local == nil || isHeldBack) && !isStoring }

    /// Called when a value was set in this process.
    ///
    /// - Returns: The value that it replaces, to be released without a lock.
    mutating func setHere(_ value: Local) -> Local? {
        defer { (local, isHeldBack) = (value, false) }
        return local
    }

    /// Called when the broker has lost its value, or has one that nobody has set. The current value is
    /// stored, unless a newer one is waiting to be stored.
    ///
    /// - Returns: The value that is not needed, to be released without a lock.
    mutating func storeAgain(_ value: Local) -> Local? {
        guard local == nil || isHeldBack else { return value }
        return setHere(value)
    }

    /// Called when the listener has received a value from the broker, which replaced the value set here.
    mutating func heardRemote() -> Local? {
        isApplying = false
        return local.take()
    }

    /// Called right before a value from the broker is set here.
    mutating func applying() {
        isApplying = isListening
    }

    /// Called when that value was not set here.
    mutating func notApplied() {
        isApplying = false
    }

    /// Called when a value arrives from the broker.
    ///
    /// - Returns: The value that is obsolete, to be released without a lock.
    mutating func arrived(_ value: Remote, revision: UInt64) -> Remote? {
        guard revision > self.revision, revision > remote?.revision ?? 0 else { return value }
        defer { remote = (value, revision) }
        return remote?.value
    }

    /// Returns what to do next; nil if there is nothing to do, or a value is being stored or applied.
    mutating func next() -> Action? {
        // A value that the listener receives before the one being applied was set before it. Until then it is
        // not known whether there is one to store.
        guard !isStoring, !isApplying else { return nil }
        if !isHeldBack, let local = local.take() {
            isStoring = true
            return .store(local)
        }
        guard let remote else { return nil }
        self.remote = nil
        guard remote.revision > revision else { return nil }
        revision = remote.revision
        return .apply(remote.value)
    }

    mutating func stored(_ revision: UInt64) {
        isStoring = false
        self.revision = max(self.revision, revision)
    }

    /// Called when another process has stored its value, which will arrive here.
    mutating func replaced() {
        isStoring = false
    }

    /// Called when the value cannot be stored on this connection. It is kept for ``connectionIsBack()``,
    /// unless it has been replaced.
    ///
    /// - Returns: The value if it has been replaced, to be released without a lock.
    mutating func refused(_ value: Local) -> Local? {
        isHeldBack = local == nil
        return postponed(value)
    }

    /// Allows a refused value to be stored.
    mutating func connectionIsBack() {
        isHeldBack = false
    }

    /// Called when the value could not be stored yet. It is tried again, unless it has been replaced.
    ///
    /// - Returns: The value if it has been replaced, to be released without a lock.
    mutating func postponed(_ value: Local) -> Local? {
        isStoring = false
        guard local == nil else { return value }
        local = value
        return nil
    }
}
