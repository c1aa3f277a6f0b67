// swift-tools-version: 6.2
import PackageDescription

/// The upcoming features every target is compiled with, as in the package that is measured.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "nats-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-channels", path: "../..", traits: ["NATS"])
    ],
    targets: [
        // The C client itself, which is what the transport is measured against.
        .systemLibrary(
            name: "CNATSDirect",
            pkgConfig: "libnats",
            providers: [.apt(["libnats-dev"]), .brew(["cnats"])]
        ),
        .executableTarget(
            name: "natsbench",
            dependencies: [
                "CNATSDirect",
                .product(name: "Channels", package: "swift-channels"),
                .product(name: "ChannelsBridge", package: "swift-channels"),
                .product(name: "ChannelsNATS", package: "swift-channels"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
