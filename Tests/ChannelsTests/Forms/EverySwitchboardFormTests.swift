// Written by Scripts/generate-form-tests. Change that, not this.

import Channels
import Dispatch
import Testing

/// Every overload is called, once, and what it throws is reported.
struct EverySwitchboardFormTests {
    @Test func everyListenOfSwitchboardCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let name: ChannelName<Int> = "forms.every"
        let owner = FormListener()
        let actor = FormActor()
        var tokens: [ListenerToken] = []
        tokens.append(board.listen(owner, to: name) { (_: FormListener, _: Int) in heard.add(0) })
        tokens.append(board.listen(owner, to: name) { (_: FormListener, _: Int, _: PostInfo) in heard.add(1) })
        tokens.append(
            board.listen(owner, to: name, context: "row") { (_: FormListener, _: Int, _: String) in heard.add(2) }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener, _: Int) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener, _: Int, _: PostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, context: "row") { (_: FormListener, _: Int, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(board.listen(to: name) { (_: Int) in heard.add(6) })
        tokens.append(board.listen(to: name) { (_: Int, _: PostInfo) in heard.add(7) })
        tokens.append(
            board.listen(to: name) { (_: Int) throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name) { (_: Int, _: PostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener, _: Int) async throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name) { (_: FormListener, _: Int, _: PostInfo) async throws in
                heard.add(11)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, context: "row") { (_: FormListener, _: Int, _: String) async throws in
                heard.add(12)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, on: .global()) { (_: FormListener, _: Int) throws in
                heard.add(13)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, on: .global()) { (_: FormListener, _: Int, _: PostInfo) throws in
                heard.add(14)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(owner, to: name, context: "row", on: .global()) {
                (_: FormListener, _: Int, _: String) throws in
                heard.add(15)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name) { (_: Int) async throws in
                heard.add(16)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name) { (_: Int, _: PostInfo) async throws in
                heard.add(17)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name, on: .global()) { (_: Int) throws in
                heard.add(18)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(to: name, on: .global()) { (_: Int, _: PostInfo) throws in
                heard.add(19)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor, _: Int) throws in
                heard.add(20)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor, _: Int, _: PostInfo) throws in
                heard.add(21)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name, context: "row") { (_: isolated FormActor, _: Int, _: String) throws in
                heard.add(22)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor, _: Int) async throws in
                heard.add(23)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name) { (_: isolated FormActor, _: Int, _: PostInfo) async throws in
                heard.add(24)
                throw FormError()
            }
        )
        tokens.append(
            board.listen(actor, to: name, context: "row") { (_: isolated FormActor, _: Int, _: String) async throws in
                heard.add(25)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(1, to: name).reached == 26)
        #expect(heard.all.sorted() == Array(0..<26))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 21))
        withExtendedLifetime((tokens, owner, actor)) {}
    }

    @Test func everyOnceOfSwitchboardCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let name: ChannelName<Int> = "forms.every"
        let owner = FormListener()
        let actor = FormActor()
        var tokens: [ListenerToken] = []
        tokens.append(board.once(owner, to: name) { (_: FormListener, _: Int) in heard.add(0) })
        tokens.append(board.once(owner, to: name) { (_: FormListener, _: Int, _: PostInfo) in heard.add(1) })
        tokens.append(
            board.once(owner, to: name, context: "row") { (_: FormListener, _: Int, _: String) in heard.add(2) }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener, _: Int) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener, _: Int, _: PostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, context: "row") { (_: FormListener, _: Int, _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(board.once(to: name) { (_: Int) in heard.add(6) })
        tokens.append(board.once(to: name) { (_: Int, _: PostInfo) in heard.add(7) })
        tokens.append(
            board.once(to: name) { (_: Int) throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name) { (_: Int, _: PostInfo) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener, _: Int) async throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name) { (_: FormListener, _: Int, _: PostInfo) async throws in
                heard.add(11)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, context: "row") { (_: FormListener, _: Int, _: String) async throws in
                heard.add(12)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, on: .global()) { (_: FormListener, _: Int) throws in
                heard.add(13)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, on: .global()) { (_: FormListener, _: Int, _: PostInfo) throws in
                heard.add(14)
                throw FormError()
            }
        )
        tokens.append(
            board.once(owner, to: name, context: "row", on: .global()) { (_: FormListener, _: Int, _: String) throws in
                heard.add(15)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name) { (_: Int) async throws in
                heard.add(16)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name) { (_: Int, _: PostInfo) async throws in
                heard.add(17)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name, on: .global()) { (_: Int) throws in
                heard.add(18)
                throw FormError()
            }
        )
        tokens.append(
            board.once(to: name, on: .global()) { (_: Int, _: PostInfo) throws in
                heard.add(19)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor, _: Int) throws in
                heard.add(20)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor, _: Int, _: PostInfo) throws in
                heard.add(21)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name, context: "row") { (_: isolated FormActor, _: Int, _: String) throws in
                heard.add(22)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor, _: Int) async throws in
                heard.add(23)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name) { (_: isolated FormActor, _: Int, _: PostInfo) async throws in
                heard.add(24)
                throw FormError()
            }
        )
        tokens.append(
            board.once(actor, to: name, context: "row") { (_: isolated FormActor, _: Int, _: String) async throws in
                heard.add(25)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(1, to: name).reached == 26)
        #expect(board.post(1, to: name) == 0)
        #expect(heard.all.sorted() == Array(0..<26))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 21))
        withExtendedLifetime((tokens, owner, actor)) {}
    }
}
