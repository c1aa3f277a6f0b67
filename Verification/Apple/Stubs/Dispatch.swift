// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase
// As much of Apple's Dispatch as the package uses, as Apple's documentation declares it.

open class DispatchObject {
    public init() {}; public func activate() {}; public func suspend() {}; public func resume() {}
}
public struct DispatchQoS: Equatable, Sendable {
    public static let unspecified = DispatchQoS(); public static let `default` = DispatchQoS()
    public enum QoSClass: Sendable { case background, utility, `default`, userInitiated, userInteractive, unspecified }
}
public struct DispatchWorkItemFlags: OptionSet, Sendable {
    public let rawValue: UInt; public init(rawValue: UInt) { self.rawValue = rawValue };
    public static let barrier = DispatchWorkItemFlags(rawValue: 1)
}
public final class DispatchGroup: DispatchObject, @unchecked Sendable {
    public override init() {}; public func enter() {}; public func leave() {};
    @available(*, noasync) public func wait() {}
    public func notify(queue: DispatchQueue, execute work: @escaping @Sendable @convention(block) () -> Void) {}
}
public final class DispatchWorkItem {
    public init(block: @escaping @convention(block) () -> Void) {}; public func cancel() {}
}
public final class DispatchSpecificKey<T> { public init() {} }
extension DispatchSpecificKey: Sendable where T: Sendable {}
public final class DispatchQueue: DispatchObject, @unchecked Sendable {
    public struct Attributes: OptionSet, Sendable {
        public let rawValue: UInt64; public init(rawValue: UInt64) { self.rawValue = rawValue };
        public static let concurrent = Attributes(rawValue: 2);
        public static let initiallyInactive = Attributes(rawValue: 4)
    }
    public enum AutoreleaseFrequency: Sendable { case inherit }
    public class var main: DispatchQueue { fatalError() }
    public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError() }
    public convenience init(
        label: String,
        qos: DispatchQoS = .unspecified,
        attributes: Attributes = [],
        autoreleaseFrequency: AutoreleaseFrequency = .inherit,
        target: DispatchQueue? = nil
    ) { fatalError() }
    public var label: String { fatalError() }
    public func sync(execute block: () -> Void) {}
    public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
    public func async(execute workItem: DispatchWorkItem) {}
    @preconcurrency public func async(
        group: DispatchGroup? = nil,
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable @convention(block) () -> Void
    ) {}
    @preconcurrency public func asyncAfter(
        deadline: DispatchTime,
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable @convention(block) () -> Void
    ) {}
    @preconcurrency public func setSpecific<T: Sendable>(key: DispatchSpecificKey<T>, value: T?) {}
    @preconcurrency public func getSpecific<T: Sendable>(key: DispatchSpecificKey<T>) -> T? { nil }
    @preconcurrency public class func getSpecific<T: Sendable>(key: DispatchSpecificKey<T>) -> T? { nil }
}
public struct DispatchTime: Comparable, Sendable {
    public let rawValue: UInt64; public init(uptimeNanoseconds: UInt64) { rawValue = uptimeNanoseconds };
    public static func now() -> DispatchTime { fatalError() };
    public static let distantFuture = DispatchTime(uptimeNanoseconds: ~0)
    public var uptimeNanoseconds: UInt64 { 0 }
    public static func < (a: DispatchTime, b: DispatchTime) -> Bool { a.rawValue < b.rawValue }
}
public enum DispatchTimeInterval: Equatable, Sendable {
    case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int); case never
}
public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }
public func + (time: DispatchTime, seconds: Double) -> DispatchTime { time }
public enum DispatchTimeoutResult: Sendable { case success, timedOut }
public final class DispatchSemaphore: DispatchObject, @unchecked Sendable {
    public init(value: Int) {}; @available(*, noasync, message: "Await a Task handle instead") public func wait() {};
    @available(*, noasync, message: "Await a Task handle instead") public func wait(timeout: DispatchTime)
        -> DispatchTimeoutResult
    { .success }; @discardableResult public func signal() -> Int { 0 }
}
public protocol DispatchSourceProtocol: AnyObject {
    typealias DispatchSourceHandler = @convention(block) () -> Void
    func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
    func cancel(); func resume(); func activate(); var isCancelled: Bool { get }
}
extension DispatchSourceProtocol {
    public func setEventHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: DispatchSourceHandler?
    ) {}
}
public protocol DispatchSourceTimer: DispatchSourceProtocol, Sendable {}
public protocol DispatchSourceSignal: DispatchSourceProtocol, Sendable {}
extension DispatchSourceTimer {
    public func schedule(
        deadline: DispatchTime,
        repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {}
}
public class DispatchSource: DispatchObject {
    public struct TimerFlags: OptionSet, Sendable {
        public let rawValue: UInt; public init(rawValue: UInt) { self.rawValue = rawValue }
    }
    public class func makeTimerSource(flags: TimerFlags = [], queue: DispatchQueue? = nil) -> any DispatchSourceTimer {
        fatalError()
    }
    public class func makeSignalSource(signal: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceSignal {
        fatalError()
    }
}
public func dispatchMain() -> Never { fatalError() }
public enum DispatchPredicate {
    case onQueue(DispatchQueue), onQueueAsBarrier(DispatchQueue), notOnQueue(DispatchQueue)
}
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {}
