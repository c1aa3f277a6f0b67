// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// As much of Foundation as the files that are compiled for 32 bits use.

public struct Date {
    public init() {}
    public var timeIntervalSince1970: Double { 0 }
}
