// Written by Scripts/generate-form-tests. Change that, not this.

import Channels
import Dispatch
import Testing

/// Every overload is called, once, and what it throws is reported.
struct EverySwitchboardVoidFormTests {
    @Test func everyListenOfSwitchboardOfVoidCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let name: ChannelName<Void> = "forms.every"
        let owner = FormListener()
        let actor = FormActor()
        var tokens: [ListenerToken] = []
        tokens.append(board.listen(owner, to: name) { (_: FormListener) in heard.add(0) })
        tokens.append(board.listen(owner, to: name) { (_: FormListener, _: PostInfo) in heard.add(1) })
        tokens.append(board.listen(owner, to: name, context: "row") { (_: FormListener, _: String) in heard.add(2) })
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener, _: PostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, context: "row") { (_: FormListener, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(board.listen(to: name) { () in heard.add(6) })
        tokens.append(board.listen(to: name) { (_: PostInfo) in heard.add(7) })
        tokens.append(
            board.listen(to: name) { () throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name) { (_: PostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener) async throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener, _: PostInfo) async throws in
                heard.add(11)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, context: "row") { (_: FormListener, _: String) async throws in
                heard.add(12)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, on: .global()) { (_: FormListener) throws in
                heard.add(13)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, on: .global()) { (_: FormListener, _: PostInfo) throws in
                heard.add(14)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, context: "row", on: .global()) { (_: FormListener, _: String) throws in
                heard.add(15)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name) { () async throws in
                heard.add(16)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name) { (_: PostInfo) async throws in
                heard.add(17)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name, on: .global()) { () throws in
                heard.add(18)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name, on: .global()) { (_: PostInfo) throws in
                heard.add(19)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor) throws in
                heard.add(20)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor, _: PostInfo) throws in
                heard.add(21)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name, context: "row") { (_: isolated FormActor, _: String) throws in
                heard.add(22)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor) async throws in
                heard.add(23)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name, context: "row") { (_: isolated FormActor, _: String) async throws in
                heard.add(24)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(to: name).reached == 25)
        #expect(heard.all.sorted() == Array(0..<25))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 20))
        withExtendedLifetime((tokens, owner, actor)) {}
    }

    @Test func everyOnceOfSwitchboardOfVoidCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let name: ChannelName<Void> = "forms.every"
        let owner = FormListener()
        let actor = FormActor()
        var tokens: [ListenerToken] = []
        tokens.append(board.once(owner, to: name) { (_: FormListener) in heard.add(0) })
        tokens.append(board.once(owner, to: name) { (_: FormListener, _: PostInfo) in heard.add(1) })
        tokens.append(board.once(owner, to: name, context: "row") { (_: FormListener, _: String) in heard.add(2) })
        tokens.append(
            board.once(owner, to: name) { (_: FormListener) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener, _: PostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, context: "row") { (_: FormListener, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(board.once(to: name) { () in heard.add(6) })
        tokens.append(board.once(to: name) { (_: PostInfo) in heard.add(7) })
        tokens.append(
            board.once(to: name) { () throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name) { (_: PostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener) async throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener, _: PostInfo) async throws in
                heard.add(11)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, context: "row") { (_: FormListener, _: String) async throws in
                heard.add(12)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, on: .global()) { (_: FormListener) throws in
                heard.add(13)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, on: .global()) { (_: FormListener, _: PostInfo) throws in
                heard.add(14)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, context: "row", on: .global()) { (_: FormListener, _: String) throws in
                heard.add(15)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name) { () async throws in
                heard.add(16)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name) { (_: PostInfo) async throws in
                heard.add(17)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name, on: .global()) { () throws in
                heard.add(18)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name, on: .global()) { (_: PostInfo) throws in
                heard.add(19)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor) throws in
                heard.add(20)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor, _: PostInfo) throws in
                heard.add(21)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name, context: "row") { (_: isolated FormActor, _: String) throws in
                heard.add(22)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor) async throws in
                heard.add(23)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name, context: "row") { (_: isolated FormActor, _: String) async throws in
                heard.add(24)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(to: name).reached == 25)
        #expect(board.post(to: name) == 0)
        #expect(heard.all.sorted() == Array(0..<25))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 20))
        withExtendedLifetime((tokens, owner, actor)) {}
    }
}
