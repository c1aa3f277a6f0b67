// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

/// NATS is off by default, so that nothing has to be installed. To use it, run
/// `swift run --package-path Examples --traits NATS Storefront --nats URL`.
let onlyWithNATS = TargetDependencyCondition.when(traits: ["NATS"])

/// What all servers depend on.
let server: [Target.Dependency] = [
    .product(name: "Channels", package: "swift-channels"),
    .product(name: "ChannelsBridge", package: "swift-channels"),
    .product(name: "ChannelsSQLite", package: "swift-channels"),
    .product(name: "ArgumentParser", package: "swift-argument-parser"),
    .product(name: "Logging", package: "swift-log"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "NATS", description: "The till and the office on two machines. Needs libnats.")
    ],
    dependencies: [
        // The trait of this package enables the one of swift-channels.
        .package(
            name: "swift-channels",
            path: "..",
            traits: ["Inspector", "Observability", "SQLite", .trait(name: "NATS", condition: .when(traits: ["NATS"]))]
        ),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.25.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "JobQueue",
            dependencies: server + [
                .product(name: "ChannelsObservability", package: "swift-channels"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "JobQueue",
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "OrderServer",
            dependencies: server + [
                .product(name: "ChannelsInspector", package: "swift-channels"),
                .product(name: "ChannelsObservability", package: "swift-channels"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            path: "OrderServer",
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Storefront",
            dependencies: server + [
                .product(name: "ChannelsInspector", package: "swift-channels"),
                .product(name: "ChannelsNATS", package: "swift-channels", condition: onlyWithNATS),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            path: "Storefront/Sources/Storefront",
            exclude: ["Resources/LICENSE-tips.txt"],
            resources: [.copy("Resources/page"), .copy("Resources/tips.csv")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StorefrontTests",
            dependencies: [
                "Storefront",
                .product(name: "ChannelsTesting", package: "swift-channels"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Storefront/Tests/StorefrontTests",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
