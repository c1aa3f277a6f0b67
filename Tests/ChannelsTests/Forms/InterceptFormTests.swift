import Channels
import Testing

struct InterceptFormTests {
    let channel = Channel<Int>(onFault: { _ in })
    let owner = FormListener()

    @Test func continueReplaceAndStop() {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        let token = channel.intercept(owner, priority: .high) { _, number in
            switch number {
            case ..<0: .stop
            case 0..<10: .replace(number * 10)
            default: .continue
            }
        }
        #expect(channel.post(-1) == 0)
        #expect(channel.post(2) == 1)
        #expect(channel.post(11) == 1)
        #expect(owner.heard.all == ["20", "11"])
        #expect(channel.listenerCount == 1)
        token.cancel()
        #expect(channel.post(-1) == 1)
    }

    @Test func singleExpressions() {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.intercept(owner) { _, _ in .continue }
        channel.intercept(owner) { me, number in
            me.hear("seen \(number)")
            return .replace(number + 1)
        }
        #expect(channel.post(1) == 1)
        #expect(owner.heard.all == ["seen 1", "2"])
    }

    @Test func infoForms() {
        let stranger = FormListener()
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.intercept(owner) { me, number, info in info.sender === me ? .replace(number * 2) : .continue }
        let token = channel.intercept(priority: .low) { _, info in info.sender == nil ? .stop : .continue }
        #expect(channel.post(1, from: owner) == 1)
        #expect(channel.post(1, from: stranger) == 1)
        #expect(channel.post(1) == 0)
        #expect(owner.heard.all == ["2", "1"])
        withExtendedLifetime(token) {}
    }

    @Test func ownerlessInterceptorLivesAsLongAsItsToken() {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        var token: ListenerToken? = channel.intercept { number in .replace(-number) }
        #expect(token?.isActive == true)
        channel.post(1)
        token = nil
        channel.post(1)
        #expect(owner.heard.all == ["-1", "1"])
    }

    @Test func throwingInterceptorLetsTheMessageGoOn() {
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.intercept(owner) { me, number in
            try me.hearOrThrow("intercepted \(number)")
            return .stop
        }
        #expect(channel.post(1) == 1)
        #expect(owner.heard.all == ["intercepted 1", "1"])
    }

    @Test func actorsAndMainActorObjectsOwnInterceptorsWithoutIsolation() async {
        let view = FormView()
        let actor = FormActor()
        channel.listen(owner) { me, number in me.hear("\(number)") }
        channel.intercept(view) { _, number in .replace(number + 1) }
        channel.intercept(actor) { _, number in .replace(number * 2) }
        await interceptOnTheMainActor(view)
        #expect(await channel.postAndWait(1).completed == 1)
        #expect(owner.heard.all == ["104"])
        channel.removeListeners(of: view)
        await channel.postAndWait(1)
        #expect(owner.heard.all == ["104", "2"])
        withExtendedLifetime(actor) {}
    }

    @MainActor
    private func interceptOnTheMainActor(_ view: FormView) {
        channel.intercept(view) { _, number in .replace(number + 100) }
    }

    @Test func interceptionsOfEquatableMessagesAreEquatable() {
        #expect(Interception<Int>.continue == .continue)
        #expect(Interception.replace(1) == .replace(1))
        #expect(Interception.replace(1) != .replace(2))
        #expect(Interception<Int>.stop != .continue)
    }

    @Test func whatInterceptorsThrowIsReported() {
        let faults = Heard<Fault>()
        let channel = Channel<Int> { faults.add($0) }
        channel.intercept(owner) { _, _ in throw Trouble() }
        let token = channel.intercept { _ in throw Trouble() }
        #expect(channel.post(1) == 0)
        #expect(faults.all.map(\.code) == [.listenerThrew, .listenerThrew])
        withExtendedLifetime(token) {}
    }
}
