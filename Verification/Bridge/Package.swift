// swift-tools-version: 6.2
import PackageDescription

/// The upcoming features every target is compiled with, as in the package that is verified.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "bridged",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-channels", path: "../..", traits: ["NATS"])
    ],
    targets: [
        .executableTarget(
            name: "bridged",
            dependencies: [
                .product(name: "Channels", package: "swift-channels"),
                .product(name: "ChannelsBridge", package: "swift-channels"),
                .product(name: "ChannelsNATS", package: "swift-channels"),
            ],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
