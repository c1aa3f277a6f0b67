/// An error whose fault has been reported. Whoever waits for the post receives it; no second fault is raised.
struct ReportedFailure: Error {
    let error: any Error
}
