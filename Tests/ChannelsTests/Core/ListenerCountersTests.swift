import Testing

@testable import Channels

private protocol Ringing: AnyObject, Sendable { func sound() }
private final class Clapper: Ringing { func sound() {} }

struct ListenerCountersTests {
    @Test func anObserverWhoseOwnerHasGoneIsRemovedByTheNextMessage() {
        let channel = ProtocolChannel<any Ringing>()
        do { channel.add(Clapper()) }
        #expect(channel.list.listenerCountNow == 1)
        #expect(channel.notify { $0.sound() } == 0)
        #expect(channel.list.listenerCountNow == 0)
    }

    @Test func eachTurnThatWasReservedIsTakenOnce() {
        let channel = Channel<Int>()
        let counters = ListenerCounters()
        for reservation in [ListenerCounters.Reservation.now, .later, .now, .later, .later] {
            counters.reserve(reservation, of: channel.list)
        }
        for _ in 0..<5 { #expect(counters.takeReservation()) }
        #expect(!counters.takeReservation())
    }

    @Test func turnsThatWereGivenUpAreNotTaken() {
        let channel = Channel<Int>()
        let counters = ListenerCounters()
        counters.reserve(.now, of: channel.list)
        counters.reserve(.later, of: channel.list)
        counters.giveUpReservations()
        #expect(!counters.takeReservation())
    }

    @Test func ofAnObserverThatIsRemovedNothingIsKept() {
        let channel = ProtocolChannel<any Ringing>()
        let clapper = Clapper()
        weak var entry: ListenerEntry?
        channel.add(clapper)
        channel.list.forEachListener {
            entry = $0
            return true
        }
        #expect(entry != nil)
        #expect(channel.remove(clapper))
        #expect(entry == nil)
    }
}
