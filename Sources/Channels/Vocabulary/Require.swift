/// Ends the program unless a condition holds, with a message, which `precondition` drops when optimised.
@inline(__always)
@usableFromInline
package func require(
    _ condition: Bool,
    _ message: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) {
    if !condition { fatalError(message(), file: file, line: line) }
}
