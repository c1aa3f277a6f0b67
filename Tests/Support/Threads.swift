import Foundation

/// Runs a body on several threads of their own, which begin together, and suspends until all have ended.
///
/// - Parameter stackSize: A thousand nested posts fit in debug builds, and under the address sanitizer, whose frames
///   are large.
package func onThreads(_ count: Int, stackSize: Int = 64 << 20, _ body: @escaping @Sendable (Int) -> Void) async {
    let ready = Tally()
    let ended = Tally()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        for index in 0..<count {
            let thread = Thread {
                ready.add()
                ready.spin(until: count)
                body(index)
                if ended.add() == count - 1 { continuation.resume() }
            }
            thread.stackSize = stackSize
            thread.start()
        }
    }
}
