import CCounting
import Channels

/// How the cost of a post grows with the listeners, the threads and the channels.
enum Growth {
    static var cases: [Case] {
        [1, 10, 100, 1_000, 10_000, 100_000].map { count in
            Case(name: "growth-listeners/\(count)") {
                let held = Threads.channel(count)
                return .plain { operations in
                    Threads.post(held.channel, operations)
                    withExtendedLifetime(held) {}
                }
            }
        }
            + [1, 2, 4, 8, 16].map { count in
                Case(name: "growth-threads/\(count)", operations: 320_000) {
                    let held = Threads.channel(1)
                    return .timed { operations in
                        let channel = held.channel
                        return [
                            Team.run(count) { _ in Threads.post(channel, operations / count) }.time / Double(operations)
                        ]
                    }
                }
            }
            + [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000].map { count in
                Case(name: "growth-channels/\(count)") {
                    let crowd = Crowd(count)
                    let names = crowd.someNames
                    return .plain { operations in
                        for number in 0..<operations { crowd.board[names[number & 1_023]].post(number) }
                    }
                }
            }
    }
}
