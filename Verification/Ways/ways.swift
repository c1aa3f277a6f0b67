// One message on each of the ways that CONTRIBUTING describes, traced by Verification/Checks/ways: it notes which functions
// run between `traced` and `returned` on the posting thread, and after that on the other one, until `heard`.

import Channels
import Dispatch
import Glibc

@inline(never) func traced() {}
@inline(never) func returned() {}
@inline(never) func heard() { calls += 1 }
/// Read and written by one thread at a time: the next message is posted a while after the last was heard.
nonisolated(unsafe) var calls = 0

/// Posts on a thread of its own, the last time traced: what the first posts need once is there then.
func post(_ post: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        let body = Body {
            for number in 1...4 {
                let before = calls
                if number == 4 { traced() }
                post()
                if number == 4 { returned() }
                while calls == before { usleep(1_000) }
                // Until what heard it is idle.
                usleep(200_000)
            }
            continuation.resume()
        }
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            {
                Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run()
                return nil
            },
            Unmanaged.passRetained(body).toOpaque()
        )
    }
}

final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

@concurrent
func run(_ way: String) async {
    switch way {
    case "Called directly":
        let channel = Channel<Int>()
        let token = channel.listen { _ in heard() }
        await post { channel.post(1) }
        withExtendedLifetime(token) {}
    case "Enqueued for the main actor":
        let channel = Channel<Int>()
        let token = channel.listen { @MainActor _ in heard() }
        await post { channel.post(1) }
        withExtendedLifetime(token) {}
    case "By name":
        let board = Switchboard()
        let name = ChannelName<Int>("shop.sold")
        let token = board[name].listen { _ in heard() }
        await post { board[name].post(1) }
        withExtendedLifetime(token) {}
    case "By name to a pattern":
        let board = Switchboard()
        let name = ChannelName<Int>("shop.sold")
        let token = board[matching: ChannelPattern("shop.*")].listen { _ in heard() }
        await post { board[name].post(1) }
        withExtendedLifetime(token) {}
    case "A state for a queue":
        let state = StateChannel(0)
        let queue = DispatchQueue(label: "ways")
        let token = state.listen(on: queue) { _ in heard() }
        try? await Task.sleep(for: .milliseconds(50))
        await post { state.set(1) }
        withExtendedLifetime(token) {}
    case "To an async listener":
        let channel = Channel<Int>()
        let token = channel.listen { _ async in heard() }
        await post { channel.post(1) }
        withExtendedLifetime(token) {}
    case "To a sequence":
        let channel = Channel<Int>()
        let messages = channel.messages()
        let reading = Task.detached { for await _ in messages { heard() } }
        try? await Task.sleep(for: .milliseconds(50))
        await post { channel.post(1) }
        reading.cancel()
    default: fatalError("there is no way '\(way)'")
    }
}

@main
struct Ways {
    static func main() async { await run(CommandLine.arguments[1]) }
}
