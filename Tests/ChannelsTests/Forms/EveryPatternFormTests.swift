import Channels
import Dispatch
import Testing

/// Every overload of `listen(matching:)` is called, once, and what it throws is reported.
struct EveryPatternFormTests {
    @Test func everyListenMatchingAPatternCallsItsBodyOnce() async {
        let heard = FormLog<Int>()
        let faults = FormLog<Fault.Code>()
        let board = Switchboard(onFault: { faults.add($0.code) })
        let owner = FormListener()
        let actor = FormActor()
        let name: ChannelName<Int> = "forms.pattern"
        @Sendable func hear(_ number: Int, _ name: String) throws {
            heard.add(number)
            throw FormError(text: name)
        }
        let tokens = [
            board.listen(matching: "forms.*") { (name: String, _: any Sendable) throws in try hear(0, name) },
            board.listen(matching: "forms.*") { (name: String, _: any Sendable) async throws in try hear(1, name) },
            board.listen(matching: "forms.*", on: .global()) { (name: String, _: any Sendable) throws in
                try hear(2, name)
            },
            board.listen(owner, matching: "forms.*") { (_: FormListener, name: String, _: any Sendable) throws in
                try hear(3, name)
            },
            board.listen(owner, matching: "forms.*") { (_: FormListener, name: String, _: any Sendable) async throws in
                try hear(4, name)
            },
            board.listen(owner, matching: "forms.*", on: .global()) {
                (_: FormListener, name: String, _: any Sendable) throws in try hear(5, name)
            },
            board.listen(actor, matching: "forms.*") { (_: isolated FormActor, name: String, _: any Sendable) throws in
                try hear(6, name)
            },
            board.listen(actor, matching: "forms.*") {
                (_: isolated FormActor, name: String, _: any Sendable) async throws in try hear(7, name)
            },
        ]
        let report = await board.postAndWait(1, to: name)
        #expect(report.reached == 8)
        #expect(report.failures.count == 8)
        #expect(heard.all.sorted() == Array(0..<8))
        #expect(faults.all == Array(repeating: .listenerThrew, count: 8))
        withExtendedLifetime((tokens, owner, actor)) {}
    }
}
