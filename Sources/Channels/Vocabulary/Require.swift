/// Ends the program with a message unless a condition holds: what is wrong is the program.
///
/// An optimised build leaves out the message of `precondition`, and whoever looks for the mistake needs it there most.
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
