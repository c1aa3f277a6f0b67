// Written by Scripts/generate-form-tests. Change that, not this.

import Channels
import Dispatch
import Testing

/// Every overload is called, once, and what it throws is reported.
struct EveryChannelParticipantFormTests {
    @Test func everyListenOfChannelParticipantCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let owner = FormParticipant(board)
        let name: ChannelName<[String: any Sendable]> = "forms.every"
        var tokens: [ListenerToken] = []
        tokens.append(owner.listen(on: name) { (_: FormParticipant, _: [String: any Sendable]) in heard.add(0) })
        tokens.append(
            owner.listen(on: name) { (_: FormParticipant, _: [String: any Sendable], _: PostInfo) in heard.add(1) }
        )
        tokens.append(
            owner.listen(on: name, context: "row") { (_: FormParticipant, _: [String: any Sendable], _: String) in
                heard.add(2)
            }
        )
        tokens.append(
            owner.listen(on: name) { (_: FormParticipant, _: [String: any Sendable]) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name) { (_: FormParticipant, _: [String: any Sendable], _: PostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, context: "row") {
                (_: FormParticipant, _: [String: any Sendable], _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name) { (_: FormParticipant, _: [String: any Sendable]) async throws in
                heard.add(6)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name) { (_: FormParticipant, _: [String: any Sendable], _: PostInfo) async throws in
                heard.add(7)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, context: "row") {
                (_: FormParticipant, _: [String: any Sendable], _: String) async throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, queue: .global()) { (_: FormParticipant, _: [String: any Sendable]) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, queue: .global()) {
                (_: FormParticipant, _: [String: any Sendable], _: PostInfo) throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, context: "row", queue: .global()) {
                (_: FormParticipant, _: [String: any Sendable], _: String) throws in
                heard.add(11)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(["total": 1], to: name).reached == 12)
        #expect(heard.all.sorted() == Array(0..<12))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 9))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyListenOfChannelParticipantThatIsAnActorCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let owner = FormActorParticipant(board)
        let name: ChannelName<[String: any Sendable]> = "forms.every"
        var tokens: [ListenerToken] = []
        tokens.append(
            owner.listen(on: name) { (_: isolated FormActorParticipant, _: [String: any Sendable]) throws in
                heard.add(0)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name) {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: PostInfo) throws in
                heard.add(1)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, context: "row") {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: String) throws in
                heard.add(2)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name) { (_: isolated FormActorParticipant, _: [String: any Sendable]) async throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name) {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: PostInfo) async throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            owner.listen(on: name, context: "row") {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: String) async throws in
                heard.add(5)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(["total": 1], to: name).reached == 6)
        #expect(heard.all.sorted() == Array(0..<6))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 6))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyOnceOfChannelParticipantCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let owner = FormParticipant(board)
        let name: ChannelName<[String: any Sendable]> = "forms.every"
        var tokens: [ListenerToken] = []
        tokens.append(owner.once(on: name) { (_: FormParticipant, _: [String: any Sendable]) in heard.add(0) })
        tokens.append(
            owner.once(on: name) { (_: FormParticipant, _: [String: any Sendable], _: PostInfo) in heard.add(1) }
        )
        tokens.append(
            owner.once(on: name, context: "row") { (_: FormParticipant, _: [String: any Sendable], _: String) in
                heard.add(2)
            }
        )
        tokens.append(
            owner.once(on: name) { (_: FormParticipant, _: [String: any Sendable]) throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name) { (_: FormParticipant, _: [String: any Sendable], _: PostInfo) throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, context: "row") { (_: FormParticipant, _: [String: any Sendable], _: String) throws in
                heard.add(5)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name) { (_: FormParticipant, _: [String: any Sendable]) async throws in
                heard.add(6)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name) { (_: FormParticipant, _: [String: any Sendable], _: PostInfo) async throws in
                heard.add(7)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, context: "row") {
                (_: FormParticipant, _: [String: any Sendable], _: String) async throws in
                heard.add(8)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, queue: .global()) { (_: FormParticipant, _: [String: any Sendable]) throws in
                heard.add(9)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, queue: .global()) {
                (_: FormParticipant, _: [String: any Sendable], _: PostInfo) throws in
                heard.add(10)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, context: "row", queue: .global()) {
                (_: FormParticipant, _: [String: any Sendable], _: String) throws in
                heard.add(11)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(["total": 1], to: name).reached == 12)
        #expect(board.post(["total": 1], to: name) == 0)
        #expect(heard.all.sorted() == Array(0..<12))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 9))
        withExtendedLifetime((tokens, owner)) {}
    }

    @Test func everyOnceOfChannelParticipantThatIsAnActorCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let owner = FormActorParticipant(board)
        let name: ChannelName<[String: any Sendable]> = "forms.every"
        var tokens: [ListenerToken] = []
        tokens.append(
            owner.once(on: name) { (_: isolated FormActorParticipant, _: [String: any Sendable]) throws in
                heard.add(0)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name) { (_: isolated FormActorParticipant, _: [String: any Sendable], _: PostInfo) throws in
                heard.add(1)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, context: "row") {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: String) throws in
                heard.add(2)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name) { (_: isolated FormActorParticipant, _: [String: any Sendable]) async throws in
                heard.add(3)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name) {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: PostInfo) async throws in
                heard.add(4)
                throw FormError()
            }
        )
        tokens.append(
            owner.once(on: name, context: "row") {
                (_: isolated FormActorParticipant, _: [String: any Sendable], _: String) async throws in
                heard.add(5)
                throw FormError()
            }
        )
        #expect(await board.postAndWait(["total": 1], to: name).reached == 6)
        #expect(board.post(["total": 1], to: name) == 0)
        #expect(heard.all.sorted() == Array(0..<6))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 6))
        withExtendedLifetime((tokens, owner)) {}
    }
}

private final class FormParticipant: ChannelParticipant, Sendable {
    let switchboard: Switchboard

    init(_ switchboard: Switchboard) { self.switchboard = switchboard }
}

private actor FormActorParticipant: ChannelParticipant {
    nonisolated let switchboard: Switchboard

    init(_ switchboard: Switchboard) { self.switchboard = switchboard }
}
