/// What is counted besides mailboxes, drops and faults, which always are.
public struct Diagnostics: Hashable, Sendable {
    private enum Storage { case off, counts }
    private let storage: Storage

    /// Nothing more. Costs nothing.
    public static let off = Diagnostics(storage: .off)
    /// Posts, and calls of listeners that have no mailbox.
    public static let counts = Diagnostics(storage: .counts)
}
