import Channels
import Foundation

/// Does what a sanitizer must report, inside a listener, so that the report has to come through the library:
/// `planted race`, `leak` or `use-after-free`; and, with `nothing`, the same without the fault.
@main
struct Planted {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case "race": race()
        case "leak": leak()
        case "use-after-free": useAfterFree()
        case "nothing": nothing()
        default:
            FileHandle.standardError.write(Data("usage: planted race|leak|use-after-free|nothing\n".utf8))
            exit(64)
        }
    }

    /// Two threads post; a listener counts without a lock.
    private static func race() {
        // The fault: it is shared.
        nonisolated(unsafe) var count = 0
        let channel = Channel<Int>()
        let token = channel.listen { count += $0 }
        postFromTwoThreads(on: channel)
        print("counted \(count)")
        withExtendedLifetime(token) {}
    }

    /// A listener keeps an object that nobody can reach any more.
    private static func leak() {
        let channel = Channel<Int>()
        let token = channel.listen { _ = Unmanaged.passRetained(Lost($0)) }
        for number in 0..<100 { channel.post(number) }
        withExtendedLifetime(token) {}
    }

    /// A listener reads memory that was given back.
    private static func useAfterFree() {
        let channel = Channel<Int>()
        nonisolated(unsafe) let memory = UnsafeMutablePointer<Int>.allocate(capacity: 16)
        memory.initialize(repeating: 1, count: 16)
        let token = channel.listen { print("read \(memory[$0])") }
        channel.post(1)
        memory.deallocate()
        channel.post(2)
        withExtendedLifetime(token) {}
    }

    private static func nothing() {
        let lock = NSLock()
        nonisolated(unsafe) var count = 0
        let channel = Channel<Int>()
        let token = channel.listen { number in lock.withLock { count += number } }
        postFromTwoThreads(on: channel)
        print("counted \(count)")
        withExtendedLifetime(token) {}
    }

    private static func postFromTwoThreads(on channel: Channel<Int>) {
        let ended = DispatchSemaphore(value: 0)
        for _ in 0..<2 {
            Thread.detachNewThread {
                for _ in 0..<10_000 { channel.post(1) }
                ended.signal()
            }
        }
        ended.wait()
        ended.wait()
    }
}

private final class Lost {
    let number: Int
    init(_ number: Int) { self.number = number }
}
