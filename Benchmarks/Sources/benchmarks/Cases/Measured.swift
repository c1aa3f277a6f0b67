import Channels
import ChannelsDiagnostics

/// Posting on channels whose diagnostics are on, and on one where they were.
enum Measured {
    static var cases: [Case] {
        Case.plain("measured-counts", Floors.listeners) { channelToken($0, .counts) }
            + Case.plain("measured-trace", Floors.listeners) { channelToken($0, .trace) }
            + Case.plain("measured-before", Floors.listeners) { channelToken($0, .trace, thenOff: true) }
            + Case.plain("measured-weak", Floors.listeners, channelWeak)
    }

    private static func channelToken(
        _ count: Int,
        _ diagnostics: Switchboard.Diagnostics,
        thenOff: Bool = false
    ) -> (Int) -> Void {
        let board = Switchboard(diagnostics: diagnostics)
        let channel = Channel<Int>()
        board.watch(channel, as: "measured")
        let tokens = counters(count).map { counter in channel.listen { counter.add($0) } }
        channel.post(0)
        if thenOff { board.diagnostics = .off }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime((tokens, board)) {}
        }
    }

    private static func channelWeak(_ count: Int) -> (Int) -> Void {
        let board = Switchboard(diagnostics: .counts)
        let channel = Channel<Int>()
        board.watch(channel, as: "measured")
        let owners = counters(count)
        for owner in owners { channel.listen(owner) { me, number in me.add(number) } }
        return { operations in
            for number in 0..<operations { channel.post(number) }
            withExtendedLifetime((owners, board)) {}
        }
    }
}
