import Channels
import ChannelsDiagnostics

/// Where the objects meet. It keeps them alive, because channels hold the owners of listeners weakly.
@MainActor
final class Stage {
    /// Counts deliveries, so that the dump at the end can show them.
    let board = Switchboard(diagnostics: .counts)
    private var cast: [Any] = []

    func keep(_ objects: Any...) {
        cast += objects
    }
}
