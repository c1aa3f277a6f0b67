// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase
// As much of Combine as the package uses, as Apple's documentation declares it.

public protocol CustomCombineIdentifierConvertible { var combineIdentifier: CombineIdentifier { get } }
extension CustomCombineIdentifierConvertible where Self: AnyObject {
    public var combineIdentifier: CombineIdentifier { CombineIdentifier() }
}
public struct CombineIdentifier: Hashable, CustomStringConvertible, Sendable {
    public init() {}; public var description: String { "" }
}
public protocol Cancellable { func cancel() }
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
    func request(_ demand: Subscribers.Demand)
}
public enum Subscribers {
    @frozen public struct Demand: Equatable, Comparable, Hashable, Codable, CustomStringConvertible, Sendable {
        public static let unlimited = Demand(); public static let none = Demand()
        public static func max(_ value: Int) -> Demand { Demand() }
        public var description: String { "" }
        public static func + (lhs: Demand, rhs: Demand) -> Demand { lhs }
        public static func += (lhs: inout Demand, rhs: Demand) {}
        public static func + (lhs: Demand, rhs: Int) -> Demand { lhs }
        public static func += (lhs: inout Demand, rhs: Int) {}
        public static func - (lhs: Demand, rhs: Demand) -> Demand { lhs }
        public static func -= (lhs: inout Demand, rhs: Demand) {}
        public static func - (lhs: Demand, rhs: Int) -> Demand { lhs }
        public static func -= (lhs: inout Demand, rhs: Int) {}
        public static func > (lhs: Demand, rhs: Int) -> Bool { false }
        public static func >= (lhs: Demand, rhs: Int) -> Bool { false }
        public static func < (lhs: Demand, rhs: Int) -> Bool { false }
        public static func == (lhs: Demand, rhs: Int) -> Bool { false }
        public static func < (lhs: Demand, rhs: Demand) -> Bool { false }
        public static func <= (lhs: Demand, rhs: Demand) -> Bool { false }
        public static func >= (lhs: Demand, rhs: Demand) -> Bool { false }
        public static func > (lhs: Demand, rhs: Demand) -> Bool { false }
        public var max: Int? { nil }
    }
    @frozen public enum Completion<Failure: Error> { case finished; case failure(Failure) }
    public final class Sink<Input, Failure: Error>: Subscriber, Cancellable, CustomStringConvertible {
        public init(receiveCompletion: @escaping (Completion<Failure>) -> Void, receiveValue: @escaping (Input) -> Void)
        {}
        public var description: String { "" }
        public func receive(subscription: any Subscription) {}
        public func receive(_ value: Input) -> Demand { .none }
        public func receive(completion: Completion<Failure>) {}
        public func cancel() {}
    }
}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Sendable {}
public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
    associatedtype Input; associatedtype Failure: Error
    func receive(subscription: any Subscription)
    func receive(_ input: Self.Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Self.Failure>)
}
public protocol Publisher<Output, Failure> {
    associatedtype Output; associatedtype Failure: Error
    func receive<S>(subscriber: S) where S: Subscriber, Self.Failure == S.Failure, Self.Output == S.Input
}
extension Publisher {
    public func subscribe<S>(_ subscriber: S) where S: Subscriber, Self.Failure == S.Failure, Self.Output == S.Input {}
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable { fatalError() }
}
extension Publisher where Failure == Never {
    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable { fatalError() }
}
public final class AnyCancellable: Cancellable, Hashable {
    public init(_ c: @escaping () -> Void) {}; public func cancel() {};
    public static func == (a: AnyCancellable, b: AnyCancellable) -> Bool { a === b };
    public func hash(into h: inout Hasher) {}
}
public final class PassthroughSubject<Output, Failure: Error>: Publisher {
    public init() {}; public func send(_ o: Output) {};
    public func send(completion: Subscribers.Completion<Failure>) {};
    public func receive<S>(subscriber: S) where S: Subscriber, Failure == S.Failure, Output == S.Input {}
}

public enum Publishers {
    public struct Map<Upstream: Publisher, Output>: Publisher {
        public typealias Failure = Upstream.Failure
        public func receive<S>(subscriber: S) where S: Subscriber, Failure == S.Failure, Output == S.Input {}
    }
    public struct HandleEvents<Upstream: Publisher>: Publisher {
        public typealias Output = Upstream.Output; public typealias Failure = Upstream.Failure
        public func receive<S>(subscriber: S) where S: Subscriber, Failure == S.Failure, Output == S.Input {}
    }
    public struct Output<Upstream: Publisher>: Publisher {
        public typealias Output = Upstream.Output; public typealias Failure = Upstream.Failure
        public func receive<S>(subscriber: S) where S: Subscriber, Failure == S.Failure, Output == S.Input {}
    }
    public struct Sequence<Elements: Swift.Sequence, Failure: Error>: Publisher {
        public typealias Output = Elements.Element
        public func receive<S>(subscriber: S) where S: Subscriber, Failure == S.Failure, Output == S.Input {}
    }
}
extension Publisher {
    public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> { fatalError() }
    public func prefix(_ maxLength: Int) -> Publishers.Output<Self> { fatalError() }
    public func handleEvents(
        receiveSubscription: ((any Subscription) -> Void)? = nil,
        receiveOutput: ((Output) -> Void)? = nil,
        receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil,
        receiveCancel: (() -> Void)? = nil,
        receiveRequest: ((Subscribers.Demand) -> Void)? = nil
    ) -> Publishers.HandleEvents<Self> { fatalError() }
}
extension Sequence { public var publisher: Publishers.Sequence<Self, Never> { fatalError() } }
