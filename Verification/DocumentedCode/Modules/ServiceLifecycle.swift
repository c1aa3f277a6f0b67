// As much of swift-service-lifecycle as the documentation uses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public protocol Service: Sendable { func run() async throws }

nonisolated(nonsending) public func cancelWhenGracefulShutdown(
    _ operation: () async throws -> Void
) async throws { try await operation() }
