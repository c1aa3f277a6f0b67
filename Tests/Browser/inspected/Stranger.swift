#if Inspector
import Channels

/// Names and messages that a page must show as what they are: text.
final class Stranger: Sendable {
    private let names = [
        "<img/src=x/onerror=document.title='owned'>",
        "\"><script/src=/x></script>",
        "right\u{202E}left",
        "zero\u{200B}width",
        "שלום.عربي",
        String(repeating: "long", count: 50),
        "javascript:alert(1)",
        "]];%%{init:{}}%%",
    ]
    private let channels: [NamedChannel<String>]

    init(_ board: Switchboard) {
        channels = names.compactMap { name in
            try? board[ChannelName<String>(validating: name.replacing(/[*>]/, with: "›"))]
        }
        for channel in channels { channel.listen(self) { _, _ in } }
    }

    func speak() async throws {
        while true {
            for channel in channels {
                channel.post(
                    "<img src=x onerror=\"document.title='owned'\"> \u{202E}drawkcab\u{202C} \u{1B}[31m\n</script>",
                    from: self
                )
            }
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}
#endif
