/// Ends the program with a message unless a condition holds. Used because optimized builds drop the message of
/// `precondition`.
@usableFromInline
package func require(
    _ condition: Bool,
    _ message: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) {
    if !condition { fatalError(message(), file: file, line: line) }
}
