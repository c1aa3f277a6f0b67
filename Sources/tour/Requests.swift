import Channels

// Requests: one object asks, others respond.
struct DayQuestion: Sendable {
    let day: String
}

extension RequestName<DayQuestion, Int> {
    static var tips: Self { "tips.of" }
}

/// Knows the tips of one time of day.
actor TipJar {
    private var tips: [String: Int] = [:]

    init(_ sales: [Sale]) {
        for sale in sales { tips[sale.day, default: 0] += sale.tip }
    }

    func tips(on day: String) -> Int { tips[day] ?? 0 }

    func open(_ board: Switchboard) {
        board.requests(.tips).respond(self) { me, question in me.tips(on: question.day) }
    }
}

/// Asks about every day, and returns the sum of all tips.
@MainActor
func requests(_ sales: [Sale], _ stage: Stage) async -> Int {
    heading("The tips: requests")
    let tips = stage.board.requests(.tips)
    do {
        _ = try await tips.ask(DayQuestion(day: "Sun"))
    } catch {
        say("waiter", "\(error)")
    }

    // Every jar responds with the tips of its time of day.
    let salesOfTime = Dictionary(grouping: sales, by: \.time)
    let jars = sales.distinct(\.time).map { time in TipJar(salesOfTime[time] ?? []) }
    for jar in jars { await jar.open(stage.board) }

    var all = 0
    var perDay: [String] = []
    for day in sales.distinct(\.day) {
        let answers = await tips.askAll(DayQuestion(day: day)).compactMap { try? $0.get() }
        let ofDay = answers.reduce(0, +)
        all += ofDay
        perDay.append("\(day) \(ofDay.dollars)")
    }
    let shown = perDay.prefix(7).joined(separator: ", ")
    say(
        "waiter",
        "\(jars.count.of("jar answers", "jars answer")) for each day: \(shown)\(perDay.count > 7 ? " …" : "")"
    )
    stage.keep(jars)
    return all
}
