internal import Synchronization

/// A channel whose messages are the methods of a protocol.
///
/// ```swift
/// @MainActor protocol UserEvents: AnyObject, Sendable { func userLogin(_ id: Int) }
/// let events = ProtocolChannel<any UserEvents>()
/// events.add(self)
/// events.notify { $0.userLogin(19000) }
/// ```
///
/// ## Behavior
///
/// - Observers are held weakly and called by priority, then in the order in which they were added, on the
///   notifier's thread, before `notify` returns. Conformance is checked by the compiler; optional methods are
///   defaults in an extension of the protocol.
/// - An observer is added once, however often `add` is called, from any thread.
/// - `notify` runs its body in the caller's isolation, so a main-actor protocol can be notified from the main
///   actor only.
/// - A notification made by an observer runs at once, at most 64 deep per channel on a thread; a deeper one
///   is not delivered and raises ``Fault/Code/recursionLimit``.
///
/// The channel is Sendable where its protocol is. Observers are classes or actors: a value given as observer
/// traps.
public final class ProtocolChannel<Observer> {
    @usableFromInline let list: ListenerList
    /// The entries by the address of their observer, which may have been deallocated: see `add`.
    private let entries = Locked<[UInt: ListenerEntry]>([:])

    /// Creates a channel without observers.
    public convenience init(onFault: FaultHandler? = nil, diagnostics: Diagnostics = .off) {
        self.init(faults: .with(onFault), diagnostics: diagnostics)
    }

    init(faults: FaultReporter, diagnostics: Diagnostics) {
        list = ListenerList(
            layout: MessageLayout(Visitor.self),
            of: Self.self,
            kind: .protocol,
            name: "\(Observer.self)",
            faults: faults,
            diagnostics: diagnostics
        )
    }

    deinit { list.close() }

    /// Adds an observer, unless it has been added. Idempotent.
    ///
    /// An observer being deinitialised is not added.
    ///
    /// - Returns: Whether it was added.
    /// - Precondition: The observer is an object.
    /// - Complexity: O(1) for a priority in use.
    @discardableResult
    public func add(
        _ observer: Observer,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Bool {
        let object = Self.object(observer)
        let entry = list.makeEntry(Self.listener(observer, object, ListenerOptions(priority, fileID, line)))
        // An observer that adds itself in its deinit.
        guard !entry.isOrphan else { return false }
        // Releasing an entry, or loading its owner, may run a deinit: neither happens under the mutex. (The
        // caller holds this one's.) The list's lock is taken inside, so that an entry found in the table is
        // in the list.
        while true {
            let (existing, isIn) = entries.withLock { entries -> (ListenerEntry?, Bool) in
                if let existing = entries[Unretained(object).address] { return (existing, false) }
                guard list.insert(entry, priority: priority.rawValue) else { return (nil, false) }
                entries[Unretained(object).address] = entry
                return (nil, true)
            }
            list.didUnlock()
            guard let existing else {
                if isIn { forgetSomeOfTheGone() }
                return isIn
            }
            if !existing.hasEnded, existing.owner === object { return false }
            // The entry of another object, which had the same address, or one that is being removed.
            forget(existing, at: Unretained(object).address)
        }
    }

    /// Removes an observer.
    ///
    /// - Returns: Whether it had been added.
    @discardableResult
    public func remove(_ observer: Observer) -> Bool { remove(object: Self.object(observer)) }

    /// Whether an observer has been added.
    public func contains(_ observer: Observer) -> Bool {
        let object = Self.object(observer)
        guard let entry = entries.withLock({ $0[Unretained(object).address] }) else { return false }
        return !entry.hasEnded && entry.owner === object
    }

    /// The number of observers.
    ///
    /// - Complexity: O(*n*): observers that have gone are removed first.
    public var observerCount: Int { list.activeListenerCount }

    /// Whether there are no observers.
    public var isEmpty: Bool { observerCount == 0 }

    /// Calls a method on every observer added when the call begins.
    ///
    /// The body does not throw. Call a throwing method as `{ try? $0.save() }`, or handle the error inside:
    /// an error of one observer must not keep the next from being called.
    ///
    /// - Parameters:
    ///   - sender: The object that notifies.
    ///   - echo: Whether the sender is notified too, if it is an observer.
    ///   - fileID: With `line`, the place of the call, for traces. Omit both.
    ///   - isolation: The caller's isolation, known at compile time: what observers post is posted there. Omit it.
    ///   - body: What to call. It does not escape and runs in the caller's isolation.
    /// - Returns: How many observers were called.
    /// - Complexity: O(*n*) in the number of observers. Does not allocate.
    @inlinable @discardableResult
    public func notify(
        from sender: AnyObject? = nil,
        echo: Bool = true,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Observer) -> Void
    ) -> Int {
        defer { withExtendedLifetime(self) {} }
        let post = Post(from: sender, echo: echo, isolation: isolation, at: PackedSite(fileID, line))
        return list.notify(post) { existential in
            // The list holds the observer during the call.
            existential.lend(as: Observer.self) { observer in body(observer) }
        }
    }

    @discardableResult
    func remove(object: AnyObject) -> Bool {
        guard let entry = entries.withLock({ $0[Unretained(object).address] }), entry.owner === object else {
            return false
        }
        // In this order: otherwise another thread could add the observer again while it is still in the list.
        let wasIn = list.remove(entry)
        forget(entry, at: Unretained(object).address)
        return wasIn
    }

    private func forget(_ entry: ListenerEntry, at address: UInt) {
        entries.withLock { entries in
            if entries[address] === entry { entries[address] = nil }
        }
    }

    /// Keeps the table no larger than about twice the observers there are.
    private func forgetSomeOfTheGone() {
        let former = entries.withLock { entries -> [UInt: ListenerEntry] in
            guard entries.count > 2 * list.listenerCountNow + 16 else { return [:] }
            // Its entries are released without the lock.
            let former = entries
            for (address, entry) in former where entry.hasEnded { entries[address] = nil }
            return former
        }
        withExtendedLifetime(former) {}
    }

    /// The observer as an object; traps for a value.
    private static func object(_ observer: Observer) -> AnyObject {
        require(
            Observer.self != (any Error).self,
            "any Error cannot be observed: an error is kept in a box, which is not the object; declare a protocol of your own"
        )
        // `as AnyObject` boxes a value on Linux, so the type is asked.
        require(
            type(of: observer as Any) is AnyObject.Type,
            "\(type(of: observer as Any)) cannot observe \(Observer.self): it is a value type, and observers are objects held weakly"
        )
        return observer as AnyObject
    }
}

/// The list synchronises itself and the table is behind a lock. Observers cross threads only if the protocol
/// is Sendable.
extension ProtocolChannel: @unchecked Sendable where Observer: Sendable {}

extension ProtocolChannel {
    /// The listener that represents an observer.
    ///
    /// The bytes of its existential are kept beside the weak owner: while the owner lives they are a valid
    /// existential of it, because they hold nothing but its address, its type and the protocol's witness
    /// tables. So a call needs no cast, and the bytes do not retain the observer.
    private static func listener(
        _ observer: Observer,
        _ object: AnyObject,
        _ options: ListenerOptions
    ) -> Registration {
        let bytes = ExistentialBytes(observer)
        let call = BareCall { visitor, _, _ in
            // `notify` lends its visitor.
            visitor.mutate(as: Visitor.self) { $0.existential = bytes.address }
        }
        return Registration(object, .isolated(nil), options, call)
    }
}

/// Receives the existential of an observer from its entry.
private struct Visitor {
    var existential: MessageAddress?
}

extension ListenerList {
    /// Walks the chain like a post, but calls a closure of the notifier's, which need not escape.
    ///
    /// It is not handed on in the message: a closure that does not escape can be stored only at the price of an
    /// allocation.
    @usableFromInline
    func notify(_ post: Post, _ visit: (MessageAddress) -> Void) -> Int {
        if head.load(ordering: .acquiring) == 0, !isMetered { return 0 }
        var visitor = Visitor()
        return MessageAddress.lending(mutable: &visitor) { visitor in
            var frame = PostFrame(self, visitor, post)
            defer { frame.end() }
            return frame.lend { frame in
                let thread = ThreadReference.current
                if let refused = begin(frame, thread) { return refused }
                if isMetered { return notifyMetered(frame, thread, visit) }
                return withPost(frame, thread) { notify(frame, visit) }
            }
        }
    }

    @inline(never)
    private func notifyMetered(
        _ frame: FrameReference,
        _ thread: ThreadReference,
        _ visit: (MessageAddress) -> Void
    ) -> Int {
        meter(frame) { withPost(frame, thread) { notify(frame, visit) } }
    }

    @inline(__always)
    private func notify(_ frame: FrameReference, _ visit: (MessageAddress) -> Void) -> Int {
        var reached = 0
        frame.pointee.number = nextNumberNow
        walk { entry in
            entry.borrow { if notify($0, frame, visit) { reached += 1 } }
            return entry
        }
        return reached
    }

    @inline(__always)
    private func notify(_ observer: ListenerEntry, _ frame: FrameReference, _ visit: (MessageAddress) -> Void) -> Bool {
        let word = observer.word.load(ordering: .acquiring)
        guard word & ListenerEntry.ended == 0, word & ListenerEntry.number < frame.pointee.number else { return false }
        // Retained for the call, and released behind it.
        guard let owner = observer.retainedOwner else {
            remove(observer)
            return false
        }
        defer { owner.release() }
        guard !frame.pointee.excludes(owner) else { return false }
        frame.pointee.beginCall(of: observer)
        let visitor = frame.pointee.message
        observer.body.callGeneral(visitor, nil, frame)
        // Set by the entry's call; the owner it names is held above.
        guard let existential = visitor.load(as: Visitor.self).existential else { return true }
        if frame.pointee.slowPath != .none {
            countCall(of: observer, frame) { visit(existential) }
        } else {
            visit(existential)
        }
        return true
    }

    /// Calls an observer while diagnostics may be on.
    @inline(never)
    private func countCall(of observer: ListenerEntry, _ frame: FrameReference, _ call: () -> Void) {
        observer.counters?.borrow { $0.countDirectCall() }
        guard let trace = frame.pointee.envelope?.trace else { return call() }
        trace.deliver(to: observer, call)
    }
}
