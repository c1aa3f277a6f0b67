import Channels
import ChannelsDiagnostics

/// Where the objects meet, and what keeps them alive: channels hold their listeners weakly.
@MainActor
final class Stage {
    /// Counts deliveries, so that the dump at the end can show them.
    let board = Switchboard(diagnostics: .counts)
    private var cast: [Any] = []

    func keep(_ objects: Any...) {
        cast += objects
    }
}
