// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The transport uses only the public declarations of these.
let bridge: [Target.Dependency] = [
    .product(name: "Channels", package: "swift-channels"),
    .product(name: "ChannelsBridge", package: "swift-channels"),
]

let package = Package(
    name: "channels-postgresql",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "ChannelsPostgreSQL", targets: ["ChannelsPostgreSQL"]),
        .executable(name: "channels-postgresql", targets: ["channels-postgresql"]),
    ],
    dependencies: [.package(name: "swift-channels", path: "../..", traits: ["Tool"])],
    targets: [
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "ChannelsPostgreSQL",
            dependencies: bridge + ["CPostgreSQL"],
            resources: [.embedInCode("schema.sql")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "channels-postgresql",
            dependencies: [
                "ChannelsPostgreSQL", .product(name: "ChannelsToolKit", package: "swift-channels"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "pgworker",
            dependencies: bridge + ["ChannelsPostgreSQL", "CPostgreSQL"],
            path: "Tests/pgworker",
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsPostgreSQLTests",
            dependencies: bridge + [
                "ChannelsPostgreSQL", "CPostgreSQL",
                .product(name: "ChannelsTesting", package: "swift-channels"),
                .product(name: "ChannelsBridgeTesting", package: "swift-channels"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
