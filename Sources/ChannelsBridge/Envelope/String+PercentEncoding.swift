extension String {
    /// The text as CloudEvents specifies for headers: spaces, quotation marks, percent signs and everything
    /// that is not visible ASCII are percent-encoded as UTF-8.
    package var percentEncoded: String {
        let mustEncode: (UInt8) -> Bool = {
            $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "%")
        }
        guard utf8.contains(where: mustEncode) else { return self }
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in utf8 {
            if mustEncode(byte) {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The inverse of ``percentEncoded``. A percent sign that does not start an escape is kept.
    package func percentDecoded(_ header: String, _ subject: String) throws -> String {
        guard utf8.contains(UInt8(ascii: "%")) else { return self }
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigitValue,
                let low = rest.dropFirst().first?.hexDigitValue
            {
                bytes.append(UInt8(high << 4 | low))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw BridgeError(.invalidEnvelope, subject: subject, detail: "\(header) is not UTF-8")
        }
        return text
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit. Unlike this, the initializers of integers would also accept a sign.
    fileprivate var hexDigitValue: Int? { Character(Unicode.Scalar(self)).hexDigitValue }
}
