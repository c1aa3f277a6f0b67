#if NATS
import ChannelsNATS
import Foundation

/// Certificates made for one test, with openssl: an authority, certificates that it signed for a server at
/// `localhost` and for a client, and another authority.
final class Certificates: Sendable {
    let folder: URL

    var authority: String { folder.appending(path: "ca.pem").path }
    var stranger: String { folder.appending(path: "stranger.pem").path }
    var serverConfiguration: String {
        "tls { cert_file: \"\(folder.path)/server.pem\", key_file: \"\(folder.path)/server.key\" }"
    }

    /// For a server that wants a certificate of its clients, too.
    var verifyingConfiguration: String {
        "tls { cert_file: \"\(folder.path)/server.pem\", key_file: \"\(folder.path)/server.key\", ca_file: \"\(authority)\", verify: true }"
    }
    var client: NATSConfiguration.TLS {
        .init(
            trustedCertificates: authority,
            certificate: "\(folder.path)/client.pem",
            key: "\(folder.path)/client.key"
        )
    }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "channels-nats-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, subject) in [("ca", "/CN=Test Authority"), ("stranger", "/CN=Stranger")] {
            try openssl(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout \(name).key -out \(name).pem",
                subject: subject
            )
        }
        try "subjectAltName=DNS:localhost\n".write(
            to: folder.appending(path: "names"),
            atomically: true,
            encoding: .utf8
        )
        for (name, subject) in [("server", "/CN=localhost"), ("client", "/CN=till")] {
            try openssl(
                "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout \(name).key -out \(name).csr",
                subject: subject
            )
            try openssl(
                "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out \(name).pem -extfile names"
            )
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func openssl(_ arguments: String, subject: String? = nil) throws {
        let words = arguments.split(separator: " ").map { word in
            let isFile = word.hasSuffix(".key") || word.hasSuffix(".pem") || word.hasSuffix(".csr") || word == "names"
            return isFile ? folder.appending(path: String(word)).path : String(word)
        }
        let log = folder.appending(path: "log").path
        guard try ChildProcess.run("openssl", words + (subject.map { ["-subj", $0] } ?? []), output: log) == 0 else {
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw ChildProcess.Failure(description: "openssl \(arguments): \(said.suffix(300))")
        }
    }
}
#endif
