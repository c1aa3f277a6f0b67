extension StateChannel {
    /// Stores a value from another framework. The sender identifies the route it took, and is its
    /// ``Posted/sender``.
    package func set(
        _ value: State,
        from sender: any AnyObject & Sendable,
        isolation: isolated (any Actor)? = #isolation
    ) {
        store(value, PostOptions(isolation: isolation, Envelope(core.list.name, sender: sender)))
    }
}
