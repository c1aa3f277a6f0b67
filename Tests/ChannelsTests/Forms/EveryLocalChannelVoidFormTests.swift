// Written by Scripts/generate-form-tests. Change that, not this.

import Channels
import Testing

/// Every overload is called, once, and what it throws is reported.
struct EveryLocalChannelVoidFormTests {
    @Test func everyListenOfLocalChannelOfVoidCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Void>(onFault: { faults.add($0.code) })
        let owner = FormListener()
        var tokens: [LocalListenerToken] = []
        tokens.append(channel.listen(owner) { (_: FormListener) in heard.add(0) })
        tokens.append(channel.listen(owner) { (_: FormListener, _: LocalPostInfo) in heard.add(1) })
        tokens.append(channel.listen(owner, context: "row") { (_: FormListener, _: String) in heard.add(2) })
        tokens.append(
            channel.listen(owner) { (_: FormListener) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner) { (_: FormListener, _: LocalPostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner, context: "row") { (_: FormListener, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(channel.listen { () in heard.add(6) })
        tokens.append(channel.listen { (_: LocalPostInfo) in heard.add(7) })
        tokens.append(
            channel.listen { () throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen { (_: LocalPostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        #expect(channel.post() == 10)
        #expect(heard.all.sorted() == Array(0..<10))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 5))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyListenOfLocalChannelOfVoidInAnActorCallsItsBodyOnce() async {
        await FormActor().everyListenOfLocalChannelOfVoidInAnActorCallsItsBodyOnce()
    }

    @Test func everyOnceOfLocalChannelOfVoidCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Void>(onFault: { faults.add($0.code) })
        let owner = FormListener()
        var tokens: [LocalListenerToken] = []
        tokens.append(channel.once(owner) { (_: FormListener) in heard.add(0) })
        tokens.append(channel.once(owner) { (_: FormListener, _: LocalPostInfo) in heard.add(1) })
        tokens.append(channel.once(owner, context: "row") { (_: FormListener, _: String) in heard.add(2) })
        tokens.append(
            channel.once(owner) { (_: FormListener) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner) { (_: FormListener, _: LocalPostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner, context: "row") { (_: FormListener, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(channel.once { () in heard.add(6) })
        tokens.append(channel.once { (_: LocalPostInfo) in heard.add(7) })
        tokens.append(
            channel.once { () throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            channel.once { (_: LocalPostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        #expect(channel.post() == 10)
        #expect(channel.post() == 0)
        #expect(heard.all.sorted() == Array(0..<10))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 5))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyOnceOfLocalChannelOfVoidInAnActorCallsItsBodyOnce() async {
        await FormActor().everyOnceOfLocalChannelOfVoidInAnActorCallsItsBodyOnce()
    }
}

extension FormActor {
    fileprivate func everyListenOfLocalChannelOfVoidInAnActorCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Void>(onFault: { faults.add($0.code) })
        var tokens: [LocalListenerToken] = []
        tokens.append(
            channel.listen(actor: self) { (_: isolated FormActor) throws in
                heard.add(0)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor: self) { (_: isolated FormActor, _: LocalPostInfo) throws in
                heard.add(1)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor: self, context: "row") { (_: isolated FormActor, _: String) throws in
                heard.add(2)
                throw FormError()
            }
        )
        #expect(channel.post() == 3)
        #expect(heard.all.sorted() == Array(0..<3))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 3))
        withExtendedLifetime(tokens) {}
    }
}

extension FormActor {
    fileprivate func everyOnceOfLocalChannelOfVoidInAnActorCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Void>(onFault: { faults.add($0.code) })
        var tokens: [LocalListenerToken] = []
        tokens.append(
            channel.once(actor: self) { (_: isolated FormActor) throws in
                heard.add(0)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor: self) { (_: isolated FormActor, _: LocalPostInfo) throws in
                heard.add(1)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor: self, context: "row") { (_: isolated FormActor, _: String) throws in
                heard.add(2)
                throw FormError()
            }
        )
        #expect(channel.post() == 3)
        #expect(channel.post() == 0)
        #expect(heard.all.sorted() == Array(0..<3))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 3))
        withExtendedLifetime(tokens) {}
    }
}
