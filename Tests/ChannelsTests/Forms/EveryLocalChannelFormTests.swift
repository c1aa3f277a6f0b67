// Written by Scripts/generate-form-tests. Change that, not this.

import Channels
import Testing

/// Every overload is called, once, and what it throws is reported.
struct EveryLocalChannelFormTests {
    @Test func everyListenOfLocalChannelCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Int>(onFault: { faults.add($0.code) })
        let owner = FormListener()
        var tokens: [LocalListenerToken] = []
        tokens.append(channel.listen(owner) { (_: FormListener, _: Int) in heard.add(0) })
        tokens.append(channel.listen(owner) { (_: FormListener, _: Int, _: LocalPostInfo) in heard.add(1) })
        tokens.append(channel.listen(owner, context: "row") { (_: FormListener, _: Int, _: String) in heard.add(2) })
        tokens.append(
            channel.listen(owner) { (_: FormListener, _: Int) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner) { (_: FormListener, _: Int, _: LocalPostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner, context: "row") { (_: FormListener, _: Int, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(channel.listen { (_: Int) in heard.add(6) })
        tokens.append(channel.listen { (_: Int, _: LocalPostInfo) in heard.add(7) })
        tokens.append(
            channel.listen { (_: Int) throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen { (_: Int, _: LocalPostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        #expect(channel.post(1) == 10)
        #expect(heard.all.sorted() == Array(0..<10))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 5))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyListenOfLocalChannelInAnActorCallsItsBodyOnce() async {
        await FormActor().everyListenOfLocalChannelInAnActorCallsItsBodyOnce()
    }

    @Test func everyOnceOfLocalChannelCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Int>(onFault: { faults.add($0.code) })
        let owner = FormListener()
        var tokens: [LocalListenerToken] = []
        tokens.append(channel.once(owner) { (_: FormListener, _: Int) in heard.add(0) })
        tokens.append(channel.once(owner) { (_: FormListener, _: Int, _: LocalPostInfo) in heard.add(1) })
        tokens.append(channel.once(owner, context: "row") { (_: FormListener, _: Int, _: String) in heard.add(2) })
        tokens.append(
            channel.once(owner) { (_: FormListener, _: Int) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner) { (_: FormListener, _: Int, _: LocalPostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner, context: "row") { (_: FormListener, _: Int, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(channel.once { (_: Int) in heard.add(6) })
        tokens.append(channel.once { (_: Int, _: LocalPostInfo) in heard.add(7) })
        tokens.append(
            channel.once { (_: Int) throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            channel.once { (_: Int, _: LocalPostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        #expect(channel.post(1) == 10)
        #expect(channel.post(1) == 0)
        #expect(heard.all.sorted() == Array(0..<10))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 5))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyOnceOfLocalChannelInAnActorCallsItsBodyOnce() async {
        await FormActor().everyOnceOfLocalChannelInAnActorCallsItsBodyOnce()
    }
}

extension FormActor {
    fileprivate func everyListenOfLocalChannelInAnActorCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Int>(onFault: { faults.add($0.code) })
        var tokens: [LocalListenerToken] = []
        tokens.append(
            channel.listen(actor: self) { (_: isolated FormActor, _: Int) throws in
                heard.add(0)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor: self) { (_: isolated FormActor, _: Int, _: LocalPostInfo) throws in
                heard.add(1)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor: self, context: "row") { (_: isolated FormActor, _: Int, _: String) throws in
                heard.add(2)
                throw FormError()
            }
        )
        #expect(channel.post(1) == 3)
        #expect(heard.all.sorted() == Array(0..<3))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 3))
        withExtendedLifetime(tokens) {}
    }
}

extension FormActor {
    fileprivate func everyOnceOfLocalChannelInAnActorCallsItsBodyOnce() {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = LocalChannel<Int>(onFault: { faults.add($0.code) })
        var tokens: [LocalListenerToken] = []
        tokens.append(
            channel.once(actor: self) { (_: isolated FormActor, _: Int) throws in
                heard.add(0)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor: self) { (_: isolated FormActor, _: Int, _: LocalPostInfo) throws in
                heard.add(1)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor: self, context: "row") { (_: isolated FormActor, _: Int, _: String) throws in
                heard.add(2)
                throw FormError()
            }
        )
        #expect(channel.post(1) == 3)
        #expect(channel.post(1) == 0)
        #expect(heard.all.sorted() == Array(0..<3))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 3))
        withExtendedLifetime(tokens) {}
    }
}
