import Channels

/// B. An event is a property of the object that emits it. It needs no name, and listeners need not
/// unregister.
@MainActor
final class Counter {
    let paid = Channel<Sale>()
}

/// Counts the tables of one time of day.
@MainActor
final class Tally {
    private var count = 0
    private var largest = 0

    func listen(to counter: Counter, time: String) {
        // The listener captures its context, the time of day.
        counter.paid.listen(self) { me, sale in
            if sale.time == time { me.note(sale) }
        }
    }

    private func note(_ sale: Sale) {
        count += 1
        largest = max(largest, sale.guests)
    }

    var report: String {
        count == 0
            ? "no table of two or more" : "\(count.of("table", "tables")) of two or more, the largest of \(largest)"
    }
}

@MainActor
func eventProperty(_ sales: [Sale], _ stage: Stage) {
    heading("Payment: an event as a property")
    let counter = Counter()
    let lunch = Tally()
    var dinner: Tally? = Tally()
    lunch.listen(to: counter, time: "Lunch")
    dinner?.listen(to: counter, time: "Dinner")

    counter.paid.listen(lunch, once: true) { _, sale in say("the first guest", "paid \(sale.bill.dollars)") }
    // An interceptor runs before the listeners. It may replace or stop a message.
    let rule = counter.paid.intercept(priority: .high) { post in post.message.guests == 1 ? .stop : .continue }

    for sale in sales { counter.paid.post(sale) }

    say("lunch", lunch.report)
    if let dinner { say("dinner", dinner.report) }
    dinner = nil
    say(
        "counter",
        "\(counter.paid.listenerCount.of("listener", "listeners")) left after dinner was released, without unregistering"
    )
    stage.keep(counter, lunch, rule)
}
