// Compiled together with the bridge's own files, by Verification/Proofs/fuzz: what comes from other
// processes. Whatever the bytes are, reading them throws or gives a value that, written and read again, is
// the same.

/// Fed by the fuzzer: headers, one a line, an empty line, a body.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEvents(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    var lines = input[...]
    var headers = TransportHeaders()
    while let end = lines.firstIndex(of: UInt8(ascii: "\n")), end > lines.startIndex {
        add(lines[..<end], to: &headers)
        lines = lines[(end + 1)...]
    }
    let body = Array(lines.drop { $0 == UInt8(ascii: "\n") })
    checkBinary(headers)
    checkStructured(body)
    checkPayload(body)
    checkEscapes(String(decoding: input, as: UTF8.self))
    checkSubject(String(decoding: body, as: UTF8.self))
    return 0
}

private func add(_ line: ArraySlice<UInt8>, to headers: inout TransportHeaders) {
    let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(decoding: parts[0], as: UTF8.self)
    let value = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
    let before = headers
    do {
        try headers.set(value, for: name)
        require(headers[name] == value, "header \(name)", value)
        require(
            value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F },
            "control character in a header",
            value
        )
    } catch {
        require(headers == before, "headers changed by one that was refused: \(name)", value)
    }
}

private func checkBinary(_ headers: TransportHeaders) {
    guard let envelope = read({ try EventEnvelope(headers: headers, subject: "x") }) else { return }
    // Without a header of its own the state of a trace does not travel.
    let again = read { try EventEnvelope(headers: envelope.headers, subject: "x") }
    require(again == envelope, "headers written and read again", "\(envelope)")
}

private func checkStructured(_ body: [UInt8]) {
    // Whatever it is, it must not trap.
    guard let envelope = read({ try StructuredEvent.envelope(of: body, subject: "x") }) else { return }
    let contentType = envelope.contentType ?? JSONCodec().contentType
    _ = try? StructuredEvent.decode(Sample.self, from: body, contentType: contentType, JSONCodec())
}

private func checkPayload(_ body: [UInt8]) {
    guard let sample = try? JSONCodec().decode(Sample.self, from: body) else { return }
    // What it throws is its own; it must not trap.
    guard let written = try? JSONCodec().encode(sample) else { return }
    require(
        (try? JSONCodec().decode(Sample.self, from: written)) == sample,
        "payload written and read again",
        "\(sample)"
    )
}

private func checkEscapes(_ text: String) {
    let encoded = text.percentEncoded
    require(encoded.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }, "escapes", text)
    require(read { try encoded.percentDecoded("x", "y") } == text, "escapes written and read again", text)
    require(read { try text.percentDecoded("x", "y") } == reference(text), "escapes read", text)
}

/// As RFC 3986 has it: a percent sign and two hexadecimal digits are a byte. Nil where the bytes are not
/// UTF-8.
private func reference(_ text: String) -> String? {
    let values = Dictionary(uniqueKeysWithValues: zip("0123456789abcdefABCDEF".utf8, Array(0...15) + Array(10...15)))
    let bytes = Array(text.utf8)
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
        if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
            let high = values[bytes[index + 1]], let low = values[bytes[index + 2]]
        {
            decoded.append(UInt8(high * 16 + low))
            index += 3
        } else {
            decoded.append(bytes[index])
            index += 1
        }
    }
    return String(validating: decoded, as: UTF8.self)
}

private func checkSubject(_ text: String) {
    let message = read { try TransportMessage(subject: text, body: []) }
    require(message == nil || message?.subject.utf8.elementsEqual(text.utf8) == true, "subject", text)
    guard message != nil else { return }
    // What would end a line of a broker's protocol, or be another argument.
    require(
        text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F },
        "subject with a control character",
        text
    )
}

/// What the body returns, or nil where it throws an error of the bridge. Another error is a fault.
private func read<Value>(_ body: () throws -> Value) -> Value? {
    do {
        return try body()
    } catch let error as BridgeError {
        let shown = "\(error)"
        require(
            shown.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
            "control character in the description",
            shown
        )
        return nil
    } catch {
        fatalError("an error that is none of the bridge's: \(error)")
    }
}

struct Sample: Codable, Equatable {
    var name: String
    var numbers: [Double]
    var next: [Sample]?
}

private func require(_ condition: Bool, _ what: String, _ input: String) {
    if !condition { fatalError("\(what): \(input.unicodeScalars.map { $0.escaped(asASCII: true) }.joined())") }
}
