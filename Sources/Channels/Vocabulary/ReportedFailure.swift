/// An error whose fault has been reported. The post that is awaited receives it; no second fault is raised.
struct ReportedFailure: Error {
    let error: any Error
}
