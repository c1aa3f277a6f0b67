// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// As much of Dispatch as the files that are compiled for 32 bits use.

public struct DispatchTime: Comparable, Sendable {
    public let uptimeNanoseconds: UInt64
    public init(uptimeNanoseconds: UInt64) { self.uptimeNanoseconds = uptimeNanoseconds }
    public static func now() -> DispatchTime { fatalError() }
    public static func < (left: DispatchTime, right: DispatchTime) -> Bool {
        left.uptimeNanoseconds < right.uptimeNanoseconds
    }
}
public class DispatchQueue { public static func global() -> DispatchQueue { fatalError() } }
public protocol DispatchSourceTimer: AnyObject {
    func schedule(deadline: DispatchTime)
    func setEventHandler(_ handler: @escaping @Sendable () -> Void)
    func activate()
    func cancel()
}
public enum DispatchSource {
    public static func makeTimerSource(queue: DispatchQueue) -> any DispatchSourceTimer { fatalError() }
}
