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
/// - Observers are held weakly. They are called in order of priority, then in the order they were added, on the
///   notifier's thread, before `notify` returns.
/// - The compiler checks conformance. For optional methods, write default implementations in an extension of the
///   protocol.
/// - An observer is added only once, no matter how often, or from how many threads, you add it.
/// - `notify` runs its body in the caller's isolation: the main actor, for a main-actor protocol.
/// - A notification made by an observer is delivered at once, up to a depth of 64 per channel and thread. A deeper one
///   is not delivered and raises ``Fault/Code/recursionLimit``.
///
/// The channel is Sendable if its protocol is. Observers are classes or actors; adding a value type traps.
public final class ProtocolChannel<Observer>: ListenerContainer {
    @usableFromInline let list: ListenerList
    /// The entries by the address of their observer, which may have been deallocated: see `add`.
    private let entries = Locked<[UInt: ListenerEntry]>([:])

    /// Creates a channel without observers.
    public convenience init(onFault: FaultHandler? = nil) {
        self.init(faults: .with(onFault))
    }

    init(faults: FaultReporter) {
        list = ListenerList(
            layout: MessageLayout(Visitor.self),
            of: Self.self,
            kind: .protocol,
            name: "\(Observer.self)",
            faults: faults
        )
    }

    deinit { list.close() }

    /// Adds an observer, held weakly, unless it is already added or is being deinitialized.
    /// - Returns: Whether it was added.
    /// - Precondition: The observer is an object.
    /// - Complexity: O(log *p*) for one of *p* priorities in use, O(*p*) for a new one.
    @discardableResult
    public func add(
        _ observer: Observer,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Bool {
        let object = Self.object(observer)
        let entry = list.makeEntry(Self.listener(observer, object, ListenerOptions(priority, fileID, line)))
        // The observer is adding itself in its deinit.
        guard !entry.isOrphan else { return false }
        // Releasing an entry, or loading its owner, may run a deinit, so neither is done under the mutex. (The caller
        // holds this observer.) The list's lock is taken inside the mutex, so that every entry in the table is in the
        // list.
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
            // This is the entry of another object that had the same address, or an entry that is being removed.
            forget(existing, at: Unretained(object).address)
        }
    }

    /// Removes an observer.
    /// - Returns: Whether it had been added.
    @discardableResult
    public func remove(_ observer: Observer) -> Bool { remove(object: Self.object(observer)) }

    /// Whether an observer has been added.
    /// - Complexity: O(1).
    public func contains(_ observer: Observer) -> Bool {
        let object = Self.object(observer)
        guard let entry = entries.withLock({ $0[Unretained(object).address] }) else { return false }
        return !entry.hasEnded && entry.owner === object
    }

    /// An implementation detail of ``ListenerContainer``.
    public var _listeners: _ListenerTable { _ListenerTable(list, .messages(Observer.self)) }

    /// Calls a method on every observer registered when the call begins.
    ///
    /// The body does not throw, so an error in one observer cannot keep the others from being called. Handle the error
    /// inside the body, or write `{ try? $0.save() }`.
    ///
    /// - Parameters:
    ///   - echo: Whether the sender is also notified, if it is an observer.
    ///   - isolation: The caller's isolation. Leave it out.
    ///   - body: Calls the method. It does not escape and runs in the caller's isolation.
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
        let post = PostOptions(from: sender, echo: echo, isolation: isolation, at: PackedSite(fileID, line))
        return list.notify(post) { existential in
            // The list retains the observer during the call.
            existential.lend(as: Observer.self) { observer in body(observer) }
        }
    }

    @discardableResult
    func remove(object: AnyObject) -> Bool {
        guard let entry = entries.withLock({ $0[Unretained(object).address] }), entry.owner === object else {
            return false
        }
        // In this order, because otherwise another thread could add the observer again while it is still in the list.
        let wasIn = list.remove(entry)
        forget(entry, at: Unretained(object).address)
        return wasIn
    }

    private func forget(_ entry: ListenerEntry, at address: UInt) {
        entries.withLock { entries in
            if entries[address] === entry { entries[address] = nil }
        }
    }

    /// Keeps the table at no more than about twice the number of observers.
    private func forgetSomeOfTheGone() { forgetTheGone(beyond: 2 * list.listenerCountNow + 16) }

    private func forgetTheGone(beyond count: Int) {
        let former = entries.withLock { entries -> [UInt: ListenerEntry] in
            guard entries.count > count else { return [:] }
            // The removed entries are released without the lock.
            let former = entries
            for (address, entry) in former where entry.hasEnded { entries[address] = nil }
            return former
        }
        withExtendedLifetime(former) {}
    }

    /// The observer as an object. Traps for a value.
    private static func object(_ observer: Observer) -> AnyObject {
        require(
            Observer.self != (any Error).self,
            "ProtocolChannel<any Error> cannot be observed: an error is kept in a box, which is not the object; "
                + "write a protocol of your own"
        )
        // The type is checked, because on Linux `as AnyObject` boxes a value.
        require(
            type(of: observer as Any) is AnyObject.Type,
            "\(type(of: observer as Any)) cannot observe \(Observer.self): it is a value type, and observers are held weakly; "
                + "write a class or an actor"
        )
        return observer as AnyObject
    }
}

/// The list synchronizes itself, a lock guards the table, and only Sendable observers cross threads.
extension ProtocolChannel: @unchecked Sendable where Observer: Sendable {}

extension ProtocolChannel {
    /// Makes the listener that stands for an observer. Besides the weak owner, it keeps the bytes of the observer's
    /// existential, so that a call needs no cast. They hold only its address, its type and the protocol's witness
    /// tables, so they are valid while the owner lives and do not retain it.
    private static func listener(
        _ observer: Observer,
        _ object: AnyObject,
        _ options: ListenerOptions
    ) -> Registration {
        let bytes = ExistentialBytes(observer)
        let call = BareCall { visitor, _, _ in
            // The message is the visitor that `notify` lends.
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
    /// Delivers like a post, but calls the notifier's closure. The closure does not escape, so it cannot travel in the
    /// message without an allocation.
    @usableFromInline
    func notify(_ post: PostOptions, _ visit: (MessageAddress) -> Void) -> Int {
        if head.load(ordering: .acquiring) == 0, !isObserved { return 0 }
        var visitor = Visitor()
        return MessageAddress.lending(mutable: &visitor) { visitor in
            var frame = PostFrame(self, visitor, post)
            defer { frame.end() }
            return frame.lend { frame in
                let thread = ThreadReference.current
                if let refused = begin(frame, thread) { return refused }
                if isObserved { return notifyObserved(frame, visit) }
                return withPost(frame, thread) { notify(frame, visit) }
            }
        }
    }

    @inline(never)
    private func notifyObserved(_ frame: FrameReference, _ visit: (MessageAddress) -> Void) -> Int {
        insideInstrument(frame) { withPost(frame, .current) { notify(frame, visit) } }
    }

    private func notify(_ frame: FrameReference, _ visit: (MessageAddress) -> Void) -> Int {
        var reached = 0
        frame.pointee.number = nextNumberNow
        walk { entry in
            entry.borrow { if notify($0, frame, visit) { reached += 1 } }
            return entry
        }
        return reached
    }

    private func notify(_ observer: ListenerEntry, _ frame: FrameReference, _ visit: (MessageAddress) -> Void) -> Bool {
        let state = observer.state
        // Retained for the call, and released after it.
        let owner = observer.retainOwner()
        defer { owner?.release() }
        guard mayReceive(frame, observer, state, owner) else { return false }
        frame.pointee.listener = Unretained(observer)
        let visitor = frame.pointee.message
        observer.body.callGeneral(visitor, nil, frame)
        // Set by the entry's call. Its object is the owner, which is retained above.
        guard let existential = visitor.load(as: Visitor.self).existential else { return true }
        if frame.pointee.checksAll {
            countCall(of: observer, frame) { visit(existential) }
        } else {
            visit(existential)
        }
        return true
    }

    /// Calls an observer, and counts the call if diagnostics are on.
    private func countCall(of observer: ListenerEntry, _ frame: FrameReference, _ call: () -> Void) {
        if isObserved { observer.ensureRoute().borrow { $0.countDirectCall() } }
        guard let trace = frame.pointee.envelope?.trace else { return call() }
        trace.deliver(to: observer, call)
    }
}
