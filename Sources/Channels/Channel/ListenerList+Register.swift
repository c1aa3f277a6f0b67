internal import Synchronization

extension ListenerList {
    /// Makes an entry of a plan and puts it in.
    @usableFromInline
    func register(
        _ plan: ListenerPlan,
        _ priority: Priority,
        _ buffering: BufferingPolicy,
        _ site: PackedSite,
        once: Bool = false
    ) -> ListenerToken {
        let token: ListenerToken
        if plan.isBare, counter == nil, case .isolated(nil) = plan.delivery {
            token = ListenerToken(bareEntry(for: plan, site, once: once))
        } else {
            token = ListenerToken(entry(for: plan, buffering, site, once: once))
        }
        // The token holds it.
        Unmanaged.passUnretained(token.entry)._withUnsafeGuaranteedRef { _ = add($0, priority: priority.rawValue) }
        return token
    }

    /// The entry of a listener that is simply called.
    @inline(__always)
    private func bareEntry(for plan: ListenerPlan, _ site: PackedSite, once: Bool) -> ListenerEntry {
        let bits = (plan.owner == nil ? 0 : ListenerEntry.owned) | (once ? ListenerEntry.once : 0)
        return ListenerEntry(bits: bits, owner: plan.owner, mailbox: nil, site: site, call: plan.call)
    }

    @inline(never)
    func entry(
        for plan: ListenerPlan,
        _ buffering: BufferingPolicy,
        _ site: PackedSite,
        once: Bool = false,
        alwaysWithMailbox: Bool = false
    ) -> ListenerEntry {
        var bits = plan.owner == nil ? 0 : ListenerEntry.owned
        let target: Mailbox.Target?
        var asyncCall: AsyncListenerCall?
        switch plan.delivery {
        case .isolated(nil): target = alwaysWithMailbox ? .inline : counter == nil ? nil : .direct
        case .isolated(let actor?): target = .actor(actor)
        case .owner: target = .owner
        case .queue(let queue): target = .queue(queue)
        case .async(let call, let isolation):
            target = .async(isolation)
            asyncCall = call
        }
        let mailbox = target.map { Mailbox($0, layout, buffering, awaiting: asyncCall) }
        if mailbox != nil { bits |= ListenerEntry.special }
        if once { bits |= ListenerEntry.once }
        if !plan.isBare { bits |= ListenerEntry.general }
        return ListenerEntry(bits: bits, owner: plan.owner, mailbox: mailbox, site: site, call: plan.call)
    }

    /// Puts an interceptor in.
    @usableFromInline
    func registerInterceptor(
        owner: AnyObject?,
        _ priority: Priority,
        _ site: PackedSite,
        call: @escaping ListenerCall
    ) -> ListenerToken {
        let mailbox = counter == nil ? nil : Mailbox(.direct, layout, .unbounded)
        let bits = ListenerEntry.general | (owner == nil ? 0 : ListenerEntry.owned)
        let entry = ListenerEntry(bits: bits, owner: owner, mailbox: mailbox, site: site, call: BareCall(call: call))
        add(entry, priority: priority.rawValue, asInterceptor: true)
        return ListenerToken(entry)
    }

    /// Makes an entry for a listener of a local channel and puts it in.
    @usableFromInline
    func registerLocal(
        owner: AnyObject?,
        _ call: BareCall,
        isBare: Bool,
        _ priority: Priority,
        _ site: PackedSite,
        once: Bool = false
    ) -> LocalListenerToken {
        var bits = owner == nil ? 0 : ListenerEntry.owned
        if !isBare { bits |= ListenerEntry.general }
        if once { bits |= ListenerEntry.once }
        let entry = ListenerEntry(bits: bits, owner: owner, mailbox: nil, site: site, call: call)
        add(entry, priority: priority.rawValue)
        return LocalListenerToken(entry)
    }

    /// The same for an interceptor.
    @usableFromInline
    func registerLocalInterceptor(
        owner: AnyObject?,
        _ priority: Priority,
        _ site: PackedSite,
        call: @escaping ListenerCall
    ) -> LocalListenerToken {
        let bits = ListenerEntry.general | (owner == nil ? 0 : ListenerEntry.owned)
        let entry = ListenerEntry(bits: bits, owner: owner, mailbox: nil, site: site, call: BareCall(call: call))
        add(entry, priority: priority.rawValue, asInterceptor: true)
        return LocalListenerToken(entry)
    }
}
