import Channels
import Testing

private class Animal: @unchecked Sendable {
    let heard = FormLog<String>()
    var sound: String { "…" }
}

private final class Dog: Animal, @unchecked Sendable {
    override var sound: String { "woof" }

    func listenInSubclass(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.heard.add("subclass \(me.sound) \(number)") }
    }
}

extension Animal {
    func listenInSuperclass(_ channel: Channel<Int>) {
        channel.listen(self) { me, number in me.heard.add("superclass \(me.sound) \(number)") }
    }
}

private final class Box<Element: Sendable>: Sendable {
    let heard = FormLog<Element>()

    func listen(to channel: Channel<Element>) {
        channel.listen(self) { me, element in me.heard.add(element) }
    }
}

private protocol Hearing: AnyObject, Sendable {
    var heard: FormLog<String> { get }
}

extension FormListener: Hearing {}
extension Animal: Hearing {}

extension Hearing {
    /// An owner known by its protocol only.
    func listenByProtocol(to channel: Channel<Int>) {
        channel.listen(self) { me, number in me.heard.add("protocol \(number)") }
    }
}

private func wire<Owner: AnyObject & Sendable, Message: Sendable>(
    _ owner: Owner,
    to channel: Channel<Message>,
    _ body: @escaping @Sendable (Owner, Message) -> Void
) -> ListenerToken {
    channel.listen(owner) { owner, message in body(owner, message) }
}

struct OwnerTypeFormTests {
    let channel = Channel<Int>()

    @Test func subclassesOwnInTheirOwnAndInTheirSuperclassesMethods() {
        let dog = Dog()
        dog.listenInSubclass(channel)
        dog.listenInSuperclass(channel)
        let animal: Animal = dog
        channel.listen(animal) { me, number in me.heard.add("variable \(me.sound) \(number)") }
        #expect(channel.post(1) == 3)
        #expect(dog.heard.all == ["subclass woof 1", "superclass woof 1", "variable woof 1"])
    }

    @Test func genericClassesOwn() {
        let numbers = Box<Int>()
        numbers.listen(to: channel)
        let texts = Box<String>()
        let textChannel = Channel<String>()
        texts.listen(to: textChannel)
        channel.post(4)
        textChannel.post("x")
        #expect(numbers.heard.all == [4])
        #expect(texts.heard.all == ["x"])
    }

    @Test func genericFunctionsRegister() {
        let owner = FormListener()
        let token = wire(owner, to: channel) { me, number in me.hear("\(number)") }
        #expect(channel.post(3) == 1)
        #expect(owner.heard.all == ["3"])
        #expect(token.isActive)
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

    @Test func ownersAreHeldWeakly() {
        weak var gone: FormListener?
        do {
            let owner = FormListener()
            gone = owner
            channel.listen(owner) { me, number in me.hear("\(number)") }
            #expect(channel.post(1) == 1)
        }
        #expect(gone == nil)
        #expect(channel.post(2) == 0)
        #expect(channel.isEmpty)
    }

    @Test func channelsArePropertiesOfWhoeverEmits() {
        final class Picker: Sendable { let dateSelected = Channel<Int>() }
        let picker = Picker()
        let owner = FormListener()
        picker.dateSelected.listen(owner) { me, date in me.hear("\(date)") }
        picker.dateSelected.post(20)
        #expect(owner.heard.all == ["20"])
    }
}
