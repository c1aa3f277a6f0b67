import CCounting
import Foundation

guard var arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
    FileHandle.standardError.write(Data((Arguments.usage + "\n").utf8))
    exit(64)
}
arguments.isPlanted = ProcessInfo.processInfo.environment["BENCH_PLANT"] == "1"

let cases = Cases.all.map { arguments.isPlanted ? $0.planted : $0 }
var figures: [Figure] = []

switch arguments.mode {
case "list":
    for one in cases where arguments.wants(one.name) { print(one.name) }
case "count":
    guard arguments.filters.count == 3, let listeners = Int(arguments.filters[1]),
        let posts = Int(arguments.filters[2]),
        let one = Cases.counted(arguments.filters[0], listeners)
    else {
        FileHandle.standardError.write(Data((Arguments.usage + "\n").utf8))
        exit(64)
    }
    let body = await (arguments.isPlanted ? one.planted : one).prepare()
    // The first posts set up what the next ones find.
    await body.perform(100)
    body.count(posts)
case "allocations":
    figures = await Runner.allocations(
        cases.filter { arguments.wants($0.name) && $0.metrics == [""] },
        rounds: min(arguments.rounds, 5)
    )
    figures += Memory.figures.filter { arguments.wants($0.name) }
default:
    figures = await Runner.time(
        cases.filter { arguments.wants($0.name) },
        rounds: arguments.rounds,
        kind: arguments.kind
    )
}

for figure in figures { print(figure.line) }
if let file = arguments.json {
    let text = "[\n" + figures.map(\.json).joined(separator: ",\n") + "\n]\n"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
}
exit(0)
