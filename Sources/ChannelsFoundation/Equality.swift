/// Whether two values are known to be equal: never if their type is not `Equatable`.
func areEqual<Value>(_ first: Value, _ second: Value) -> Bool {
    func compare<Known: Equatable>(_ first: Known) -> Bool { first == second as? Known }
    guard let first = first as? any Equatable else { return false }
    return compare(first)
}
