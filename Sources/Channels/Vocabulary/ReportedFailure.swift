/// An error whose fault has already been raised. The awaited post receives it, and no second fault is raised.
struct ReportedFailure: Error {
    let error: any Error
}
