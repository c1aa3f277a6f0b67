import Channels
import ChannelsTesting
import Testing

private class Animal: @unchecked Sendable {
    let heard = Recorder<String>()
    var sound: String { "…" }

    func listenInSuperclass(_ channel: Channel<Int>) {
        channel.listen(self) { me, _ in me.heard.record("superclass \(me.sound)") }
    }
}

private final class Dog: Animal, @unchecked Sendable {
    override var sound: String { "woof" }

    func listenInSubclass(_ channel: Channel<Int>) {
        channel.listen(self) { me, _ in me.heard.record("subclass \(me.sound)") }
    }
}

private final class Box<Element: Sendable>: Sendable {
    let heard = Recorder<Element>()

    func listen(to source: some Listenable<Element>) {
        source.listen(self) { me, element in me.heard.record(element) }
        source.listen(self) { me, element in await me.hearLater(element) }
    }

    private func hearLater(_ element: Element) async { heard.record(element) }
}

private struct WrongOwner: Error {}

private protocol Hearing: AnyObject, Sendable {
    var heard: Recorder<String> { get }
}

extension FormListener: Hearing {}
extension Animal: Hearing {}

extension Hearing {
    /// An owner known by its protocol only.
    func listenByProtocol(to channel: Channel<Int>) {
        channel.listen(self) { me, number in me.heard.record("protocol \(number)") }
    }
}

struct OwnerTypeFormTests {
    let channel = Channel<Int>()

    @Test func subclassesOwnInTheirOwnAndInTheirSuperclassesMethods() {
        let dog = Dog()
        dog.listenInSubclass(channel)
        dog.listenInSuperclass(channel)
        channel.listen(dog as Animal) { me, _ in me.heard.record("variable \(me.sound)") }
        #expect(channel.post(1) == 3)
        #expect(dog.heard.all == ["subclass woof", "superclass woof", "variable woof"])
    }

    @Test func genericClassesOwnWithAndWithoutAwait() async {
        let box = Box<Int>()
        box.listen(to: channel)
        #expect(channel.post(4) == 2)
        #expect(await box.heard.first(2) == [4, 4])
    }

    @Test func protocolExtensionsRegisterSelf() {
        let owners: [any Hearing] = [FormListener(), Dog()]
        for owner in owners { owner.listenByProtocol(to: channel) }
        #expect(channel.post(2) == 2)
        #expect(owners.map(\.heard.all) == [["protocol 2"], ["protocol 2"]])
        #expect(channel.post(3, from: owners[0], echo: false) == 1)
        channel.removeListeners(of: owners[1])
        #expect(channel.listenerCount == 1)
    }

    @Test func existentialsOwn() {
        let first = FormListener()
        let hearing: any Hearing = first
        let object: any AnyObject & Sendable = first
        channel.listen(hearing) { me, number in me.heard.record("existential \(number)") }
        #expect(channel.post(1, from: hearing) == 1)
        #expect(channel.post(2, from: object, echo: false) == 0)
        #expect(first.heard.all == ["existential 1"])
    }

    /// `as any` keeps the compiler from opening the existential: the owner's type is the existential itself.
    @Test func existentialsOwnUnopened() {
        let first = FormListener()
        let object: any AnyObject & Sendable = first
        channel.listen(object as any AnyObject & Sendable) { me, number in
            // Not inside `#expect`, which Swift 6.3 cannot compile for this type.
            let isFirst = me === first
            first.heard.record("object \(number) \(isFirst)")
        }
        channel.listen(object as any AnyObject & Sendable) { me, number in
            guard me === first else { throw WrongOwner() }
            first.heard.record("throwing \(number)")
        }
        #expect(channel.post(1) == 2)
        #expect(first.heard.all == ["object 1 true", "throwing 1"])
    }
}
