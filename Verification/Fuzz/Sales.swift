// Compiled together with the tour's own files, by Verification/Proofs/fuzz: the reader of comma-separated
// values.

/// Fed by the fuzzer: a file.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSales(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    // Behind a header that is right as well: few inputs have one.
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    check(input)
    check(Array("total_bill,tip,day,time,size\n".utf8) + input)
    return 0
}

private func check(_ input: [UInt8]) {
    let reader: SaleReader
    do throws(SaleReader.Unreadable) {
        reader = try SaleReader(input)
    } catch {
        requireHarmless(error.description)
        return
    }
    require(!reader.sales.isEmpty, "nothing was read and nothing thrown")
    let lines = input.filter { $0 == UInt8(ascii: "\n") }.count + 1
    var last = 0
    for problem in reader.malformed {
        require(problem.line > last && problem.line <= lines, "line \(problem.line) after \(last), of \(lines)")
        last = problem.line
        requireHarmless(problem.description)
    }
    for sale in reader.sales {
        require(sale.bill >= 0 && sale.tip >= 0 && (1...1_000).contains(sale.guests) && !sale.day.isEmpty, "\(sale)")
    }
    // What was read is read again as it was, however it is quoted.
    let again = try? SaleReader(Array(text(of: reader.sales).utf8))
    require(again?.malformed == [], "what was written is malformed: \(again?.malformed.first as Any)")
    require(again?.sales.map(fields) == reader.sales.map(fields), "what was written is read as something else")
}

private func fields(_ sale: Sale) -> [String] {
    ["\(sale.bill)", "\(sale.tip)", sale.day, sale.time, "\(sale.guests)"]
}

private func text(of sales: [Sale]) -> String {
    func amount(_ cents: Int) -> String { "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)" }
    func quoted(_ text: String) -> String {
        // Scalar by scalar: a quotation mark with a combining mark is one character, and not equal to a
        // quotation mark.
        "\"" + text.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
    return sales.reduce("tip,total_bill,size,day,time\r\n") {
        $0 + "\(amount($1.tip)),\(amount($1.bill)),\($1.guests),\(quoted($1.day)),\(quoted($1.time))\r\n"
    }
}

/// A message is one line that a terminal may show, and not endless.
private func requireHarmless(_ text: String) {
    require(
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
        "control character in a message"
    )
    require(text.unicodeScalars.count < 1_000, "a message of \(text.unicodeScalars.count) scalars")
}

private func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}
