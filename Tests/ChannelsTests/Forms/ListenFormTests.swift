import Channels
import ChannelsDiagnostics
import ChannelsTesting
import Dispatch
import Testing

/// Every form of `listen` on everything that can be listened to.
struct ListenFormTests {
    let heard = Recorder<Int>()
    let owners = FormOwners()

    private func listen(
        to source: FormSource,
        _ form: ListenForm,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        later: @escaping @Sendable () async -> Void = {}
    ) -> ListenerToken {
        source.listen(form, owners, .normal, once, buffering, later) { [heard] in heard.record($0) }
    }

    @Test(arguments: FormSources.allCases, ListenForm.allCases)
    func everyFormHearsEveryMessageOnceAndInOrder(_ kind: FormSources, _ form: ListenForm) async {
        let source = kind.make()
        let token = listen(to: source, form)
        #expect(source.count() == 1)
        source.post(1...5)
        let expected = kind.first + [1, 2, 3, 4, 5]
        // What has no isolation is called before `post` returns.
        #expect(form.delivery != .direct || heard.all == expected)
        #expect(await heard.first(expected.count) == expected)
        await token.cancelAndWait()
        source.post(6...6)
        #expect(heard.all == expected)
        #expect(!token.isActive)
        #expect(source.count() == 0)
    }

    @Test(arguments: FormSources.allCases, ListenForm.allCases)
    func everyFormWithOnceHearsTheFirstMessageOnly(_ kind: FormSources, _ form: ListenForm) async {
        let source = kind.make()
        let token = listen(to: source, form, once: true)
        source.post(1...3)
        let expected = Array((kind.first + [1]).prefix(1))
        #expect(await heard.first(1) == expected)
        await token.cancelAndWait()
        #expect(heard.all == expected)
        #expect(!token.isActive)
        #expect(source.count() == 0)
    }

    @Test(arguments: FormSources.allCases)
    func postFromTheActorItselfCallsItsListenerBeforeItReturns(_ kind: FormSources) async {
        let source = kind.make()
        let token = listen(to: source, .actor)
        _ = await heard.first(kind.first.count)
        await owners.actor.post(7, to: source)
        #expect(heard.all == kind.first + [7])
        withExtendedLifetime(token) {}
    }

    @Test(arguments: FormSources.allCases, ListenForm.allCases)
    func whatAFormThrowsIsAFaultAndDisturbsNobody(_ kind: FormSources, _ form: ListenForm) async {
        let faults = Recorder<Fault>()
        let source = kind.make { faults.record($0) }
        let token = source.listen(form, owners, .high, false, .automatic, {}) { throw Trouble(text: "\($0)") }
        let neighbour = listen(to: source, .tokenAsync)
        source.post(1...2)
        let expected = kind.first + [1, 2]
        #expect(await heard.first(expected.count) == expected)
        if form.mayThrow {
            let found = await faults.first(expected.count)
            #expect(found.map { ($0.underlyingError as? Trouble)?.text } == expected.map { "\($0)" })
            #expect(found.allSatisfy { $0.code == .listenerThrew && $0.channelKind == source.kind })
            #expect(found.allSatisfy { $0.registrationSite?.fileID == ListenForm.fileID })
        }
        await token.cancelAndWait()
        await neighbour.cancelAndWait()
        #expect(faults.count == (form.mayThrow ? expected.count : 0))
    }

    @Test(arguments: FormSources.allCases, ListenForm.allCases)
    func listenerGoesWithItsOwnerOrItsToken(_ kind: FormSources, _ form: ListenForm) async {
        let source = kind.make()
        var owners: FormOwners? = FormOwners()
        weak let listener = owners?.listener
        weak let actor = owners?.actor
        var token: ListenerToken?
        token = source.listen(form, owners!, .normal, false, .automatic, {}) { [heard] in heard.record($0) }
        _ = await heard.first(kind.first.count)
        if form.ownerType == nil {
            token = nil
        } else {
            owners = nil
            // The drain that delivered the first value may hold the owner for a moment yet.
            await wait(for: listener == nil && actor == nil) { $0 }
            #expect(token?.isActive == false)
        }
        source.post(1...2)
        #expect(source.count() == 0)
        #expect(heard.all == kind.first)
    }

    @Test(arguments: FormSources.allCases)
    func directFormsAreReachedByPriorityThenByRegistration(_ kind: FormSources) {
        let (source, order) = (kind.make(), Recorder<String>())
        let priorities: [ListenerPriority] = [
            .low, .normal, 7, .high, -200, .normal, ListenerPriority(.max), ListenerPriority(.min),
        ]
        let tokens = priorities.flatMap { priority in
            ListenForm.direct.map { form in
                source.listen(form, owners, priority, false, .automatic, {}) {
                    order.record("\(priority) \(form) \($0)")
                }
            }
        }
        source.post(1...1)
        let ranked = priorities.sorted(by: >).flatMap { priority in ListenForm.direct.map { "\(priority) \($0) 1" } }
        #expect(Array(order.all.suffix(tokens.count)) == ranked)
    }

    @Test(arguments: ListenForm.allCases)
    func everyFormStandsInTheSnapshotAsItWasRegistered(_ form: ListenForm) throws {
        let board = Switchboard()
        let token = form.listen(to: board[FormSources.name], owners, priority: 42) { _ in }
        let listener = try #require(board.snapshot().channels.first?.listeners.first)
        #expect(listener.deliveryKind == form.delivery)
        #expect(listener.priority == 42)
        #expect(listener.ownerType == form.ownerType)
        #expect(listener.registrationSite.fileID == ListenForm.fileID)
        withExtendedLifetime(token) {}
    }

    /// Asynchronous closures are held in their first call, the queue is suspended, the actor busy.
    @Test(arguments: FormSources.allCases, ListenForm.allCases.filter { $0.delivery != .direct })
    func bufferBoundsWhatWaits(_ kind: FormSources, _ form: ListenForm) async {
        for (policy, kept) in kind.policies {
            let (source, gate, before) = (kind.make(), Gate(), heard.count)
            owners.queue.suspend()
            let token = listen(to: source, form, buffering: policy) { await gate.wait() }
            if form.delivery == .async, kind.first.isEmpty { source.post(0...0) }
            let begun = form.delivery == .queue ? 0 : form.delivery == .async ? 1 : kind.first.count
            _ = await heard.first(before + begun)
            await owners.actor.whileBusy { source.post(1...5) }
            #expect(token.droppedCount == (form.delivery == .queue ? kind.first.count : 0) + 3)
            gate.open()
            owners.queue.resume()
            #expect(await heard.first(before + begun + 2).suffix(2) == kept)
            await token.cancelAndWait()
            #expect(heard.count == before + begun + 2)
        }
    }
}

extension FormActor {
    fileprivate func post(_ number: Int, to source: FormSource) { source.post(number, self) }

    fileprivate func whileBusy(_ body: @Sendable () -> Void) { body() }
}
