// Written by Scripts/generate-form-tests. Change that, not this.

import Channels
import Dispatch
import Testing

/// Every overload is called, once, and what it throws is reported.
struct EveryChannelVoidFormTests {
    @Test func everyListenOfChannelOfVoidCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = Channel<Void>(onFault: { faults.add($0.code) })
        let owner = FormListener()
        let actor = FormActor()
        var tokens: [ListenerToken] = []
        tokens.append(channel.listen(owner) { (_: FormListener) in heard.add(0) })
        tokens.append(channel.listen(owner) { (_: FormListener, _: PostInfo) in heard.add(1) })
        tokens.append(channel.listen(owner, context: "row") { (_: FormListener, _: String) in heard.add(2) })
        tokens.append(
            channel.listen(owner) { (_: FormListener) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner) { (_: FormListener, _: PostInfo) throws in
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
        tokens.append(channel.listen { (_: PostInfo) in heard.add(7) })
        tokens.append(
            channel.listen { () throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen { (_: PostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner) { (_: FormListener) async throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner) { (_: FormListener, _: PostInfo) async throws in
                heard.add(11)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner, context: "row") { (_: FormListener, _: String) async throws in
                heard.add(12)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner, on: .global()) { (_: FormListener) throws in
                heard.add(13)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner, on: .global()) { (_: FormListener, _: PostInfo) throws in
                heard.add(14)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(owner, context: "row", on: .global()) { (_: FormListener, _: String) throws in
                heard.add(15)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen { () async throws in
                heard.add(16)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen { (_: PostInfo) async throws in
                heard.add(17)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(on: .global()) { () throws in
                heard.add(18)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(on: .global()) { (_: PostInfo) throws in
                heard.add(19)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor) { (_: isolated FormActor) throws in
                heard.add(20)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor) { (_: isolated FormActor, _: PostInfo) throws in
                heard.add(21)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor, context: "row") { (_: isolated FormActor, _: String) throws in
                heard.add(22)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor) { (_: isolated FormActor) async throws in
                heard.add(23)
                throw FormError()
            }
        )
        tokens.append(
            channel.listen(actor, context: "row") { (_: isolated FormActor, _: String) async throws in
                heard.add(24)
                throw FormError()
            }
        )
        #expect(await channel.postAndWait().reached == 25)
        #expect(heard.all.sorted() == Array(0..<25))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 20))
        withExtendedLifetime((tokens, owner, actor)) {}
    }

    @Test func everyOnceOfChannelOfVoidCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let channel = Channel<Void>(onFault: { faults.add($0.code) })
        let owner = FormListener()
        let actor = FormActor()
        var tokens: [ListenerToken] = []
        tokens.append(channel.once(owner) { (_: FormListener) in heard.add(0) })
        tokens.append(channel.once(owner) { (_: FormListener, _: PostInfo) in heard.add(1) })
        tokens.append(channel.once(owner, context: "row") { (_: FormListener, _: String) in heard.add(2) })
        tokens.append(
            channel.once(owner) { (_: FormListener) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner) { (_: FormListener, _: PostInfo) throws in
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
        tokens.append(channel.once { (_: PostInfo) in heard.add(7) })
        tokens.append(
            channel.once { () throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            channel.once { (_: PostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner) { (_: FormListener) async throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner) { (_: FormListener, _: PostInfo) async throws in
                heard.add(11)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner, context: "row") { (_: FormListener, _: String) async throws in
                heard.add(12)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner, on: .global()) { (_: FormListener) throws in
                heard.add(13)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner, on: .global()) { (_: FormListener, _: PostInfo) throws in
                heard.add(14)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(owner, context: "row", on: .global()) { (_: FormListener, _: String) throws in
                heard.add(15)
                throw FormError()
            }
        )
        tokens.append(
            channel.once { () async throws in
                heard.add(16)
                throw FormError()
            }
        )
        tokens.append(
            channel.once { (_: PostInfo) async throws in
                heard.add(17)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(on: .global()) { () throws in
                heard.add(18)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(on: .global()) { (_: PostInfo) throws in
                heard.add(19)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor) { (_: isolated FormActor) throws in
                heard.add(20)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor) { (_: isolated FormActor, _: PostInfo) throws in
                heard.add(21)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor, context: "row") { (_: isolated FormActor, _: String) throws in
                heard.add(22)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor) { (_: isolated FormActor) async throws in
                heard.add(23)
                throw FormError()
            }
        )
        tokens.append(
            channel.once(actor, context: "row") { (_: isolated FormActor, _: String) async throws in
                heard.add(24)
                throw FormError()
            }
        )
        #expect(await channel.postAndWait().reached == 25)
        #expect(channel.post() == 0)
        #expect(heard.all.sorted() == Array(0..<25))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 20))
        withExtendedLifetime((tokens, owner, actor)) {}
    }
}
