import Channels

// Requests: a question on a channel, and somebody answers.
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

/// Asks about every day; returns all the tips there are.
@MainActor
func requests(_ sales: [Sale], _ stage: Stage) async -> Int {
    heading("Requests")
    let tips = stage.board.requests(.tips)
    do {
        _ = try await tips.ask(DayQuestion(day: "Sun"))
    } catch {
        say("waiter", "\(error)")
    }

    // Every jar answers; the amounts of its time of day only.
    let salesOfTime = Dictionary(grouping: sales, by: \.time)
    let jars = sales.distinct(\.time).map { time in TipJar(salesOfTime[time] ?? []) }
    for jar in jars { await jar.open(stage.board) }

    var all = 0
    let days = sales.distinct(\.day)
    for day in days {
        let answers = await tips.askAll(DayQuestion(day: day)).compactMap { try? $0.get() }
        all += answers.reduce(0, +)
        if days.count <= 7 {
            say(
                "waiter",
                "\(day): \(answers.map(\.dollars).joined(separator: " and ")) in \(answers.count.of("jar", "jars"))"
            )
        }
    }
    stage.keep(jars)
    return all
}
