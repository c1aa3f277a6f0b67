// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase
// As much of Apple's Foundation as the package uses, as Apple's documentation declares it.

@_exported import Darwin
@_exported import Dispatch
@_exported import Observation

public protocol NSObjectProtocol: AnyObject {}
open class NSObject: NSObjectProtocol, Equatable, Hashable {
    public init() {}; public static func == (a: NSObject, b: NSObject) -> Bool { a === b };
    public func hash(into h: inout Hasher) {}
}
public struct Data: Sendable, Hashable, Codable, RandomAccessCollection, MutableCollection {
    public init() {}; public init<S: Sequence>(_ s: S) where S.Element == UInt8 {}
    public var startIndex: Int { 0 }; public var endIndex: Int { 0 };
    public subscript(i: Int) -> UInt8 {
        get { 0 }
        set {}
    }
}
public typealias TimeInterval = Double
public struct Date: Sendable, Hashable, Codable, Comparable {
    public init() {}; public init(timeIntervalSince1970: Double) {}; public var timeIntervalSince1970: Double { 0 }
    public static func < (a: Date, b: Date) -> Bool { false }
}
open class JSONEncoder { public init() {}; open func encode<T: Encodable>(_ v: T) throws -> Data { Data() } }
@available(macOS 13.0, iOS 16.0, tvOS 16.0, watchOS 9.0, *) extension JSONEncoder: @unchecked Sendable {}
open class JSONDecoder {
    public init() {}; open func decode<T: Decodable>(_ t: T.Type, from d: Data) throws -> T { fatalError() }
}
@available(macOS 13.0, iOS 16.0, tvOS 16.0, watchOS 9.0, *) extension JSONDecoder: @unchecked Sendable {}
open class Thread: NSObject {
    @available(*, noasync, message: "Work intended for the main actor should be marked with @MainActor") public class
        var isMainThread: Bool
    { true }
    @available(*, noasync, message: "Thread.current cannot be used from async contexts.") public class var current:
        Thread
    { fatalError() }
    public override init() {}
    public convenience init(block: @escaping @Sendable () -> Void) { self.init() }
    public class func detachNewThread(_ block: @escaping @Sendable () -> Void) {}
    @available(*, noasync) public class func sleep(forTimeInterval: Double) {}
    public var stackSize: Int {
        get { 0 }
        set {}
    }
    public var name: String? {
        get { nil }
        set {}
    }
    public var isMainThread: Bool { true }
    public func start() {}
}
open class OperationQueue: NSObject, @unchecked Sendable { public class var main: OperationQueue { fatalError() } }
open class NSNotification: NSObject {
    public struct Name: Hashable, Equatable, RawRepresentable, Sendable {
        public let rawValue: String; public init(_ r: String) { rawValue = r };
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}
public struct Notification {
    public typealias Name = NSNotification.Name; public var name: Name; public var object: Any?;
    public var userInfo: [AnyHashable: Any]?
    public init(name: Name, object: Any? = nil, userInfo: [AnyHashable: Any]? = nil) {
        self.name = name; self.object = object; self.userInfo = userInfo
    }
}
open class NotificationCenter: NSObject, @unchecked Sendable {
    public class var `default`: NotificationCenter { fatalError() }
    open func post(_ notification: Notification) {}
    open func post(name aName: NSNotification.Name, object anObject: Any?) {}
    open func post(
        name aName: NSNotification.Name,
        object anObject: Any?,
        userInfo aUserInfo: [AnyHashable: Any]? = nil
    ) {}
    open func removeObserver(_ observer: Any) {}
    open func removeObserver(_ observer: Any, name aName: NSNotification.Name?, object anObject: Any?) {}
    open func addObserver(
        forName name: NSNotification.Name?,
        object obj: Any?,
        queue: OperationQueue?,
        using block: @escaping @Sendable (Notification) -> Void
    ) -> any NSObjectProtocol { fatalError() }
}
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension NotificationCenter.MainActorMessage {
    @MainActor public static func makeMessage(_ notification: Notification) -> Self? { nil }
    @MainActor public static func makeNotification(_ message: Self) -> Notification { Notification(name: Self.name) }
    public static var name: Notification.Name { Notification.Name(rawValue: "") }
}
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension NotificationCenter.AsyncMessage {
    public static func makeMessage(_ notification: Notification) -> Self? { nil }
    public static func makeNotification(_ message: Self) -> Notification { Notification(name: Self.name) }
    public static var name: Notification.Name { Notification.Name(rawValue: "") }
}
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension NotificationCenter {
    public protocol MainActorMessage: SendableMetatype {
        associatedtype Subject; static var name: Notification.Name { get }
        @MainActor static func makeMessage(_ notification: Notification) -> Self?
        @MainActor static func makeNotification(_ message: Self) -> Notification
    }
    public protocol AsyncMessage: Sendable {
        associatedtype Subject; static var name: Notification.Name { get }
        static func makeMessage(_ notification: Notification) -> Self?
        static func makeNotification(_ message: Self) -> Notification
    }
    public protocol MessageIdentifier { associatedtype MessageType }
    public struct ObservationToken: Hashable, Sendable {}
    public func addObserver<Identifier: MessageIdentifier, Message: MainActorMessage>(
        of subject: Message.Subject,
        for identifier: Identifier,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Identifier.MessageType == Message, Message.Subject: AnyObject { fatalError() }
    public func addObserver<Identifier: MessageIdentifier, Message: MainActorMessage>(
        of subject: Message.Subject.Type,
        for identifier: Identifier,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Identifier.MessageType == Message { fatalError() }
    public func addObserver<Message: MainActorMessage>(
        of subject: Message.Subject? = nil,
        for messageType: Message.Type,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Message.Subject: AnyObject { fatalError() }
    public func addObserver<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject,
        for identifier: Identifier,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Identifier.MessageType == Message, Message.Subject: AnyObject { fatalError() }
    public func addObserver<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject.Type,
        for identifier: Identifier,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Identifier.MessageType == Message { fatalError() }
    public func addObserver<Message: AsyncMessage>(
        of subject: Message.Subject? = nil,
        for messageType: Message.Type,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Message.Subject: AnyObject { fatalError() }
    // The forms for subjects that are identified by ObjectIdentifier.
    public func addObserver<Message: MainActorMessage>(
        of subject: Message.Subject? = nil,
        for messageType: Message.Type,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Message.Subject: Identifiable, Message.Subject.ID == ObjectIdentifier { fatalError() }
    public func addObserver<Message: AsyncMessage>(
        of subject: Message.Subject? = nil,
        for messageType: Message.Type,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Message.Subject: Identifiable, Message.Subject.ID == ObjectIdentifier { fatalError() }
    public func removeObserver(_ token: ObservationToken) {}
    @MainActor public func post<Message: MainActorMessage>(_ message: Message, subject: Message.Subject)
    where Message.Subject: AnyObject {}
    @MainActor public func post<Message: MainActorMessage>(_ message: Message) {}
    public func post<Message: AsyncMessage>(_ message: Message, subject: Message.Subject)
    where Message.Subject: AnyObject {}
    public func post<Message: AsyncMessage>(_ message: Message) {}
}

open class ProcessInfo: NSObject, @unchecked Sendable {
    public class var processInfo: ProcessInfo { fatalError() }; public var environment: [String: String] { [:] };
    public var processIdentifier: Int32 { 0 }; public var activeProcessorCount: Int { 1 };
    public var systemUptime: Double { 0 }
}
public struct UUID: Hashable, Sendable, Codable, CustomStringConvertible {
    public init() {}; public init?(uuidString: String) {}; public var uuidString: String { "" };
    public var description: String { "" }
}
public class NSNumber: NSObject {}
public protocol NSLocking { func lock(); func unlock() }
extension NSLocking { public func withLock<R>(_ body: () throws -> R) rethrows -> R { try body() } }
open class NSLock: NSObject, NSLocking, @unchecked Sendable {
    @available(*, noasync, message: "Use async-safe scoped locking instead") open func lock() {};
    @available(*, noasync) open func unlock() {}; open func `try`() -> Bool { true }
}

open class NSRecursiveLock: NSObject, NSLocking, @unchecked Sendable {
    @available(*, noasync, message: "Use async-safe scoped locking instead") open func lock() {};
    @available(*, noasync) open func unlock() {}
}
