// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase
// As much of XCTest as the package uses.

open class XCTestCase {
    public init() {}
}

public func XCTAssertEqual<T: Equatable>(
    _ first: @autoclosure () throws -> T,
    _ second: @autoclosure () throws -> T,
    _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath,
    line: UInt = #line
) {}
