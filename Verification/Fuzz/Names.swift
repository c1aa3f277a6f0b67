// Compiled together with the library's own files, by Verification/Proofs/fuzz: names and patterns against a
// slow reference.

/// Fed by the fuzzer: a pattern, a line feed, a name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzNames(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = UnsafeBufferPointer(start: bytes, count: count)
    let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let pattern = String(decoding: parts[0], as: UTF8.self)
    let name = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : pattern
    checkValidity(name)
    checkValidity(pattern)
    checkMatch(pattern, name)
    checkEquality(pattern, name)
    return 0
}

private func checkValidity(_ text: String) {
    let name = Result { try ChannelName<Int>(validating: text) }
    let pattern = Result { try ChannelPattern(validating: text) }
    require(name.isSuccess == Reference.isValid(text, isPattern: false), "name", text)
    require(pattern.isSuccess == Reference.isValid(text, isPattern: true), "pattern", text)
    require(!name.isSuccess || pattern.isSuccess, "a valid name is a valid pattern", text)
    if case .failure(let error) = name {
        require((error as? ChannelError)?.code == .invalidName, "error", text)
        // Names come from outside and end up in logs: one line, nothing that a terminal obeys, not endless.
        let shown = "\(error)"
        require(
            shown.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
            "control character in the description",
            text
        )
        require(shown.unicodeScalars.count < 2_000, "description too long", text)
    }
}

private func checkMatch(_ pattern: String, _ name: String) {
    guard let parsed = try? ChannelPattern(validating: pattern), Reference.isValid(name, isPattern: false) else {
        return
    }
    require(parsed.matches(name) == Reference.matches(pattern, name), "match with \(pattern)", name)
    // A name is the pattern of itself.
    require((try? ChannelPattern(validating: name))?.matches(name) == true, "matches itself", name)
}

private func checkEquality(_ left: String, _ right: String) {
    guard let a = try? ChannelName<Int>(validating: left), let b = try? ChannelName<Int>(validating: right) else {
        return
    }
    let areEqual = Array(left.unicodeScalars) == Array(right.unicodeScalars)
    require((a == b) == areEqual, "equality with \(left)", right)
    require(!areEqual || a.hashValue == b.hashValue, "hash with \(left)", right)
    require(a.text == left, "text", left)
}

/// The rules as they are written down, and nothing else.
enum Reference {
    static func isValid(_ text: String, isPattern: Bool) -> Bool {
        guard text.utf8.count <= 1_024 else { return false }
        let tokens = tokens(text)
        for (index, token) in tokens.enumerated() {
            if token.isEmpty { return false }
            if token.contains(where: { $0.properties.isWhitespace || $0.properties.generalCategory == .control }) {
                return false
            }
            guard token.contains("*") || token.contains(">") else { continue }
            guard isPattern, token.count == 1 else { return false }
            if token == [">"], index != tokens.count - 1 { return false }
        }
        return true
    }

    static func matches(_ pattern: String, _ name: String) -> Bool {
        matches(tokens(pattern)[...], tokens(name)[...])
    }

    private static func matches(_ pattern: ArraySlice<[Unicode.Scalar]>, _ name: ArraySlice<[Unicode.Scalar]>) -> Bool {
        guard let first = pattern.first else { return name.isEmpty }
        guard let token = name.first else { return false }
        if first == [">"] { return true }
        guard first == ["*"] || first == token else { return false }
        return matches(pattern.dropFirst(), name.dropFirst())
    }

    private static func tokens(_ text: String) -> [[Unicode.Scalar]] {
        var tokens: [[Unicode.Scalar]] = [[]]
        for scalar in text.unicodeScalars {
            if scalar == "." { tokens.append([]) } else { tokens[tokens.count - 1].append(scalar) }
        }
        return tokens
    }
}

private func require(_ condition: Bool, _ what: String, _ text: String) {
    if !condition { fatalError("\(what): \(Array(text.unicodeScalars))") }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
