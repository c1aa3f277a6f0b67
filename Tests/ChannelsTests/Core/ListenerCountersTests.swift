import Testing

@testable import Channels

struct ListenerCountersTests {
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
}
