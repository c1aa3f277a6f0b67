import Dispatch
import Foundation
import Synchronization

/// Plays seeds in which user code runs wherever it can, and there does what it may: see `Scripts/verify lifetimes`.
@main
enum Lifetimes {
    @MainActor
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let (first, count) = arguments.count > 1 ? (arguments[0], arguments[1]) : (0, arguments.first ?? 2_000)
        var actions = 0
        for seed in first..<(first + count) {
            // A process that hangs is a failure, too.
            alarm(60)
            actions += await play(seed)
        }
        print("\(count) seeds, \(actions) actions of user code, nothing is kept")
    }

    @MainActor
    private static func play(_ seed: Int) async -> Int {
        let world = World(seed)
        world.begin()
        LocalWorld.current = LocalWorld()
        // Every third seed has another thread, which does the same at the same time.
        let other = DispatchSemaphore(value: 0)
        if seed % 3 == 0 {
            Thread.detachNewThread {
                for _ in 0..<40 { world.act() }
                other.signal()
            }
        } else {
            other.signal()
        }
        for _ in 0..<40 {
            world.act()
            if world.random(8) == 0 { await Task.yield() }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                other.wait()
                continuation.resume()
            }
        }
        LocalWorld.current?.end()
        LocalWorld.current = nil
        world.stop()
        await world.clear()
        // What was retired while another thread read is freed a few milliseconds later.
        for _ in 0..<5_000 where World.probes.load(ordering: .relaxed) > 0 {
            try? await Task.sleep(for: .milliseconds(1))
            await world.clear()
        }
        World.current.withLock { $0 = nil }
        let left = World.probes.load(ordering: .relaxed)
        guard left == 0 else {
            FileHandle.standardError.write(Data("error: seed \(seed) keeps \(left) objects\n".utf8))
            exit(1)
        }
        return world.count.load(ordering: .relaxed)
    }
}
