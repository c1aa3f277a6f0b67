// As much of UIKit as the documentation uses, where there is none.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

open class NSCoder {}

@MainActor open class UILabel {
    public var text: String?
    public init() {}
}

@MainActor open class UIViewController {
    public init(nibName: String?, bundle: Int?) {}
    public required init?(coder: NSCoder) {}
}
