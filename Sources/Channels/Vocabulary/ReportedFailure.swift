/// An error whose fault has been reported already: whoever waits for the post is told, and no second fault is
/// raised.
struct ReportedFailure: Error {
    let error: any Error
}
