// As much of SwiftUI as the documentation uses, where there is none.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@MainActor public protocol View {
    associatedtype Body
    @ViewBuilder var body: Body { get }
}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock<Content>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content>(_ content: repeat each Content) -> (repeat each Content) {
        (repeat each content)
    }
}

@propertyWrapper public struct State<Value> {
    public var wrappedValue: Value
    public var projectedValue: Binding<Value> { Binding(bound: wrappedValue) }
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public init(initialValue: Value) { wrappedValue = initialValue }
}

@dynamicMemberLookup @propertyWrapper public struct Bindable<Value> {
    public var wrappedValue: Value
    public var projectedValue: Bindable<Value> { self }
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public subscript<Part>(dynamicMember path: ReferenceWritableKeyPath<Value, Part>) -> Binding<Part> {
        Binding(bound: wrappedValue[keyPath: path])
    }
}

@dynamicMemberLookup public struct Binding<Value> {
    let bound: Value
    public subscript<Part>(dynamicMember path: WritableKeyPath<Value, Part>) -> Binding<Part> {
        Binding<Part>(bound: bound[keyPath: path])
    }
}

@MainActor public struct Text: View {
    public init(_ text: String) {}
    public var body: Void { () }
}

@MainActor public struct TextField: View {
    public init(_ title: String, text: Binding<String>) {}
    public var body: Void { () }
}

@MainActor public struct Button: View {
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
    public var body: Void { () }
}

@MainActor public struct VStack: View {
    public init<Content>(@ViewBuilder content: () -> Content) {}
    public var body: Void { () }
}

@MainActor public protocol Scene {}

@MainActor public struct WindowGroup: Scene {
    public init<Content>(@ViewBuilder content: () -> Content) {}
}

@MainActor public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() {}
}

public protocol EnvironmentKey {
    associatedtype Value
    static var defaultValue: Value { get }
}

public struct EnvironmentValues {
    public subscript<Key: EnvironmentKey>(key: Key.Type) -> Key.Value {
        get { Key.defaultValue }
        set {}
    }
}

@propertyWrapper public struct Environment<Value> {
    public let wrappedValue: Value
    public init(_ path: KeyPath<EnvironmentValues, Value>) { wrappedValue = EnvironmentValues()[keyPath: path] }
}

extension View {
    public func environment<Value>(_ path: WritableKeyPath<EnvironmentValues, Value>, _ value: Value) -> some View {
        self
    }
}
