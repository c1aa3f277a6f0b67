import Channels

/// B. An event as a property of the object that emits it. Nobody needs a name, and nobody has to unregister.
@MainActor
final class Counter {
    let paid = Channel<Sale>()
}

/// Hears of one time of day: which, is the context handed back at each call.
@MainActor
final class Tally {
    private(set) var count = 0
    private(set) var largest = 0

    func listen(to counter: Counter, time: String) {
        counter.paid.listen(self, context: time) { me, sale, time in
            if sale.time == time { me.note(sale) }
        }
    }

    private func note(_ sale: Sale) {
        count += 1
        largest = max(largest, sale.guests)
    }
}

@MainActor
func eventProperty(_ sales: [Sale], _ stage: Stage) {
    heading("B. An event as a property")
    let counter = Counter()
    let lunch = Tally()
    var dinner: Tally? = Tally()
    lunch.listen(to: counter, time: "Lunch")
    dinner?.listen(to: counter, time: "Dinner")

    counter.paid.once(lunch) { _, sale in say("the first guest", "paid \(sale.bill.dollars)") }
    // Before any listener: may replace a message, or stop it.
    let rule = counter.paid.intercept(priority: .high) { sale in sale.guests == 1 ? .stop : .continue }

    for sale in sales { counter.paid.post(sale) }

    say("lunch", "\(lunch.count) tables of two or more, the largest of \(lunch.largest)")
    say("dinner", "\(dinner?.count ?? 0) tables of two or more, the largest of \(dinner?.largest ?? 0)")
    dinner = nil
    say("counter", "\(counter.paid.listenerCount) listener left now that dinner has gone; it did not say goodbye")
    stage.keep(counter, lunch, rule)
}
