#if NATS
import Foundation

/// The seed of a user's nkey, and the public key that follows from it, which the server knows.
struct NkeySeed {
    let publicKey: String

    /// - Parameter file: The path of a file with the seed on its own line, as `nk` and `nsc` write it.
    init(file: String) throws {
        guard let contents = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw Failure("\(file): cannot be read")
        }
        let lines = contents.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        guard let seed = lines.lazy.compactMap(Self.seed).first else {
            throw Failure("\(file): it does not contain a user nkey seed")
        }
        publicKey = Self.text(of: [Self.userPrefix] + (try Self.publicKey(of: seed)))
    }

    /// Encodes to `U` as the first letter.
    private static let userPrefix: UInt8 = 20 << 3
    /// Encodes to `S` as the first letter.
    private static let seedPrefix: UInt8 = 18 << 3
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// The 32 bytes of a user's seed, which is written as `SU…`: in Base32, a prefix of two bytes, the seed
    /// and a checksum.
    private static func seed(_ line: String) -> [UInt8]? {
        guard line.utf8.count == 58 else { return nil }
        var bytes: [UInt8] = []
        var (bits, count) = (0, 0)
        for letter in line.utf8 {
            guard let value = letters.firstIndex(of: letter) else { return nil }
            bits = bits << 5 | value
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            bits &= (1 << count) - 1
        }
        let prefix = seedPrefix | userPrefix >> 5
        guard bytes.count == 36, bytes[0] == prefix, bytes[1] == (userPrefix & 31) << 3,
            checksum(bytes[..<34]) == UInt16(bytes[34]) | UInt16(bytes[35]) << 8
        else { return nil }
        return Array(bytes[2..<34])
    }

    private static func text(of bytes: [UInt8]) -> String {
        let sum = checksum(bytes[...])
        var text = ""
        var (bits, count) = (0, 0)
        for byte in bytes + [UInt8(truncatingIfNeeded: sum), UInt8(sum >> 8)] {
            bits = (bits << 8 | Int(byte)) & 0xFFFF
            count += 8
            while count >= 5 {
                count -= 5
                text.unicodeScalars.append(Unicode.Scalar(letters[bits >> count & 31]))
            }
        }
        return text
    }

    /// CRC-16 as in XMODEM.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
    }

    private typealias NewKey =
        @convention(c) (
            Int32, OpaquePointer?, UnsafePointer<UInt8>, Int
        ) -> OpaquePointer?
    private typealias PublicKey =
        @convention(c) (
            OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>
        ) -> Int32
    private typealias FreeKey = @convention(c) (OpaquePointer) -> Void

    /// Computes the public key with OpenSSL, which the process has loaded because the C client needs it for
    /// TLS. The C client has no function for this, and the headers of OpenSSL need not be installed.
    private static func publicKey(of seed: [UInt8]) throws -> [UInt8] {
        let process = dlopen(nil, RTLD_NOW)
        guard let newKey = dlsym(process, "EVP_PKEY_new_raw_private_key"),
            let getPublicKey = dlsym(process, "EVP_PKEY_get_raw_public_key"),
            let freeKey = dlsym(process, "EVP_PKEY_free")
        else { throw Failure("nkeys need a libnats with OpenSSL") }
        // The function is declared with this type in openssl/evp.h. Its first argument, 1087, is NID_ED25519.
        let new = unsafeBitCast(newKey, to: NewKey.self)
        // The function is declared with this type in openssl/evp.h.
        let get = unsafeBitCast(getPublicKey, to: PublicKey.self)
        // The function is declared with this type in openssl/evp.h.
        let free = unsafeBitCast(freeKey, to: FreeKey.self)
        guard let key = new(1087, nil, seed, seed.count) else { throw Failure("OpenSSL rejects the seed") }
        defer { free(key) }
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = bytes.count
        guard get(key, &bytes, &count) == 1, count == 32 else {
            throw Failure("OpenSSL has no public key for the seed")
        }
        return bytes
    }
}
#endif
