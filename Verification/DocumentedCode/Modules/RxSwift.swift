// As much of RxSwift and RxRelay as the documentation shows as old code.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public protocol Disposable { func disposed(by bag: DisposeBag) }

public final class DisposeBag {
    public init() {}
}

public struct Subscription: Disposable { public func disposed(by bag: DisposeBag) {} }

public final class MainScheduler {
    public nonisolated(unsafe) static let instance = MainScheduler()
}

public class Observable<Element> {
    init() {}
    public func observe(on scheduler: MainScheduler) -> Observable<Element> { self }
    public func subscribe(onNext: @escaping (Element) -> Void) -> any Disposable { Subscription() }
    public func map<Part>(_ transform: @escaping (Element) -> Part) -> Observable<Part> { Observable<Part>() }
    public func take(_ count: Int) -> Observable<Element> { self }
    public func distinctUntilChanged() -> Observable<Element> { self }
}

public final class PublishRelay<Element>: Observable<Element> {
    public override init() {}
    public func accept(_ element: Element) {}
}

public final class BehaviorRelay<Element>: Observable<Element> {
    public var value: Element
    public init(value: Element) { self.value = value }
    public func accept(_ element: Element) { value = element }
}
