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
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    traits: [.trait(name: "NATS", description: "For the product natsbench. Needs libnats and SQLite.")],
    dependencies: [
        .package(
            name: "swift-channels",
            path: "..",
            traits: [
                .trait(name: "NATS", condition: .when(traits: ["NATS"])),
                // For a relay from a file to a server.
                .trait(name: "SQLite", condition: .when(traits: ["NATS"])),
            ]
        ),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    ],
    targets: [
        .target(name: "CCounting"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "CCounting",
                .product(name: "Channels", package: "swift-channels"),
                .product(name: "ChannelsDiagnostics", package: "swift-channels"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ],
            swiftSettings: settings
        ),
        // Built by name, with the trait. The C client itself is what the transport is measured against.
        .systemLibrary(
            name: "CNATSDirect",
            pkgConfig: "libnats",
            providers: [.apt(["libnats-dev"]), .brew(["cnats"])]
        ),
        .executableTarget(
            name: "natsbench",
            dependencies: [
                .target(name: "CNATSDirect", condition: .when(traits: ["NATS"])),
                .product(name: "Channels", package: "swift-channels"),
                .product(name: "ChannelsBridge", package: "swift-channels"),
                .product(name: "ChannelsNATS", package: "swift-channels"),
                .product(name: "ChannelsSQLite", package: "swift-channels"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
