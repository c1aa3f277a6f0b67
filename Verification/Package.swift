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
    traits: [
        .trait(name: "NATS", description: "For the product bridged: a bridge over NATS. Needs libnats."),
        .trait(name: "SQLite", description: "For the product filed: channels over a file. On Debian: libsqlite3-dev."),
        .trait(name: "OpenCombine", description: "For the product conformance: what channels are compared with."),
    ],
    dependencies: [
        .package(
            name: "swift-channels",
            path: "..",
            traits: [
                .trait(name: "NATS", condition: .when(traits: ["NATS"])),
                .trait(name: "SQLite", condition: .when(traits: ["SQLite"])),
            ]
        ),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.8.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "soak",
            dependencies: channels + [.product(name: "ChannelsDiagnostics", package: "swift-channels")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "lifetimes",
            dependencies: channels + [.product(name: "ChannelsDiagnostics", package: "swift-channels")],
            swiftSettings: settings
        ),
        .executableTarget(name: "hello", dependencies: channels, swiftSettings: settings),
        .executableTarget(name: "empty", swiftSettings: settings),
        .target(name: "CMemory"),
        .executableTarget(name: "memory", dependencies: channels + ["CMemory"], swiftSettings: settings),
        // Built by name, with their trait.
        .executableTarget(
            name: "bridged",
            dependencies: channels + [
                .product(name: "ChannelsBridge", package: "swift-channels"),
                .product(name: "ChannelsNATS", package: "swift-channels"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "filed",
            dependencies: channels + [
                .product(name: "ChannelsBridge", package: "swift-channels"),
                .product(name: "ChannelsSQLite", package: "swift-channels"),
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "conformance",
            dependencies: channels + [
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(traits: ["OpenCombine"]))
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
