actor Log {
    func write(_ sale: Sale) async throws {}
    nonisolated func close() {}
}
