// swift-tools-version: 6.2
import PackageDescription

/// The upcoming features every target is compiled with, as in the package that is verified.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let channels: [Target.Dependency] = [.product(name: "Channels", package: "swift-channels")]

let package = Package(
    name: "verification",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-channels", path: "..")],
    targets: [
        .executableTarget(name: "soak", dependencies: channels, swiftSettings: settings),
        .target(name: "CMemory"),
        .executableTarget(name: "memory", dependencies: channels + ["CMemory"], swiftSettings: settings),
        .executableTarget(name: "planted", dependencies: channels, swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
