extension StateChannel {
    /// Stores a value that came from elsewhere, with the object that stands for the way it took: listeners to
    /// ``Listenable/posts`` see it as ``Posted/sender``.
    package func set(
        _ value: State,
        from sender: any AnyObject & Sendable,
        isolation: isolated (any Actor)? = #isolation
    ) {
        store(value, Post(isolation: isolation, Envelope(sender: sender, origin: .local, tracker: nil)))
    }
}
