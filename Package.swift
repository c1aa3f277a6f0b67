// swift-tools-version: 6.2
import PackageDescription

/// The upcoming features every target is compiled with; see CONTRIBUTING.md.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// What only the trait NATS needs: without it, libnats is not looked for.
let onlyWithNATS = TargetDependencyCondition.when(traits: ["NATS"])

/// What only the trait Observability needs.
let onlyObserved = TargetDependencyCondition.when(traits: ["Observability"])
/// What only the trait Inspector needs: without it, Hummingbird is not looked for.
let onlyWithInspector = TargetDependencyCondition.when(traits: ["Inspector"])

/// What only the trait SQLite needs: without it, GRDB is not looked for, and with it SQLite.
let onlyWithSQLite = TargetDependencyCondition.when(traits: ["SQLite"])
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift", condition: onlyWithSQLite)
/// SQLite itself, for a setting that GRDB does not have.
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift", condition: onlyWithSQLite)

/// What only the channels tool needs.
let onlyWithTool = TargetDependencyCondition.when(traits: ["Tool"])

/// Only with the trait OpenCombine, and only where there is no Combine.
let openCombine = Target.Dependency.product(
    name: "OpenCombine",
    package: "OpenCombine",
    condition: .when(platforms: [.linux, .android], traits: ["OpenCombine"])
)

let package = Package(
    name: "swift-channels",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Channels", targets: ["Channels"]),
        .library(name: "ChannelsDiagnostics", targets: ["ChannelsDiagnostics"]),
        .library(name: "ChannelsFoundation", targets: ["ChannelsFoundation"]),
        .library(name: "ChannelsBridge", targets: ["ChannelsBridge"]),
        .library(name: "ChannelsTesting", targets: ["ChannelsTesting"]),
        .library(name: "ChannelsBridgeTesting", targets: ["ChannelsBridgeTesting"]),
        .executable(name: "tour", targets: ["tour"]),
        .library(name: "ChannelsNATS", targets: ["ChannelsNATS"]),
        .library(name: "ChannelsSQLite", targets: ["ChannelsSQLite"]),
        .executable(name: "channels", targets: ["ChannelsTool"]),
        .library(name: "ChannelsToolKit", targets: ["ChannelsToolKit"]),
        .library(name: "ChannelsObservability", targets: ["ChannelsObservability"]),
        .library(name: "ChannelsInspector", targets: ["ChannelsInspector"]),
    ],
    traits: [
        .trait(
            name: "NATS",
            description:
                "Bridges over NATS, and the channels tool. Needs libnats: Debian's libnats-dev, Homebrew's cnats.",
            enabledTraits: ["Tool"]
        ),
        .trait(
            name: "SQLite",
            description:
                "Bridges over one SQLite file, the outbox, with GRDB, and the channels tool. On Debian it needs libsqlite3-dev.",
            enabledTraits: ["Tool"]
        ),
        .trait(
            name: "Tool",
            description: "The channels tool as a library, for a transport of your own. NATS and SQLite enable it."
        ),
        .trait(
            name: "OpenCombine",
            description: "Publishers for channels, with OpenCombine where there is no Combine."
        ),
        .trait(
            name: "Observability",
            description:
                "Logs, metrics, spans and services: swift-log, -metrics, -distributed-tracing, -service-lifecycle."
        ),
        .trait(
            name: "Inspector",
            description: "A live web page that shows what is said on a switchboard, served by Hummingbird."
        ),
        .trait(
            name: "AsyncAlgorithms",
            description: "For the tests of this package: compiles the guide on operators with swift-async-algorithms."
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.8.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ],
    targets: [
        .target(name: "CChannels"),
        .target(name: "Channels", dependencies: ["CChannels"], swiftSettings: settings + [.strictMemorySafety()]),
        .target(
            name: "ChannelsDiagnostics",
            dependencies: ["Channels"],
            swiftSettings: settings + [.strictMemorySafety()]
        ),
        .target(
            name: "ChannelsFoundation",
            dependencies: ["Channels", openCombine],
            swiftSettings: settings + [.strictMemorySafety()]
        ),
        .target(name: "ChannelsBridge", dependencies: ["Channels"], swiftSettings: settings + [.strictMemorySafety()]),
        .target(name: "ChannelsTesting", dependencies: ["Channels"], swiftSettings: settings + [.strictMemorySafety()]),
        .target(
            name: "ChannelsBridgeTesting",
            dependencies: ["Channels", "ChannelsBridge", "ChannelsTesting"],
            swiftSettings: settings + [.strictMemorySafety()]
        ),
        .executableTarget(
            name: "tour",
            dependencies: [
                "Channels",
                "ChannelsDiagnostics",
                .target(name: "ChannelsBridge", condition: .when(traits: ["NATS", "SQLite"])),
                .target(name: "ChannelsNATS", condition: onlyWithNATS),
                .target(name: "ChannelsSQLite", condition: onlyWithSQLite),
            ],
            exclude: ["Resources/LICENSE-tips.txt"],
            resources: [.embedInCode("Resources/tips.csv")],
            swiftSettings: settings
        ),
        // For the tests of all targets.
        .target(name: "TestSupport", path: "Tests/Support", swiftSettings: settings),
        .testTarget(
            name: "ChannelsTests",
            dependencies: ["Channels", "ChannelsDiagnostics", "ChannelsTesting", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsFoundationTests",
            dependencies: [
                "Channels",
                "ChannelsFoundation",
                "ChannelsTesting",
                "TestSupport",
                openCombine,
                .product(
                    name: "AsyncAlgorithms",
                    package: "swift-async-algorithms",
                    condition: .when(traits: ["AsyncAlgorithms"])
                ),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsTestingTests",
            dependencies: ["Channels", "ChannelsTesting", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsBridgeTests",
            dependencies: [
                "Channels", "ChannelsBridge", "ChannelsDiagnostics", "ChannelsTesting", "ChannelsBridgeTesting",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "TourTests", dependencies: ["tour"], swiftSettings: settings),
        .testTarget(
            name: "MainActorDefaultTests",
            dependencies: ["Channels", "ChannelsTesting", "TestSupport"],
            swiftSettings: settings + [.defaultIsolation(MainActor.self)]
        ),

        // Only with the trait NATS; without it, these are empty or say how to enable it.
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
        .target(
            name: "ChannelsNATS",
            dependencies: ["Channels", "ChannelsBridge", .target(name: "CNATS", condition: onlyWithNATS)],
            swiftSettings: settings
        ),
        .target(
            name: "ChannelsToolKit",
            dependencies: [
                .target(name: "Channels", condition: onlyWithTool),
                .target(name: "ChannelsBridge", condition: onlyWithTool),
                .target(name: "ChannelsNATS", condition: onlyWithNATS),
                .target(name: "ChannelsSQLite", condition: onlyWithSQLite),
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: onlyWithTool),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            // Not of the product's name: that would be the module Channels where file names ignore case.
            name: "ChannelsTool",
            dependencies: [.target(name: "ChannelsToolKit", condition: onlyWithTool)],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsNATSTests",
            dependencies: [
                "Channels",
                "ChannelsBridge",
                "ChannelsTesting",
                "ChannelsBridgeTesting",
                "TestSupport",
                .target(name: "ChannelsNATS", condition: onlyWithNATS),
                .target(name: "ChannelsToolKit", condition: onlyWithNATS),
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: onlyWithNATS),
            ],
            exclude: ["Python"],
            swiftSettings: settings
        ),

        // Only with the trait SQLite; without it, both are empty.
        .target(
            name: "ChannelsSQLite",
            dependencies: ["Channels", "ChannelsBridge", grdb, sqlite],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsSQLiteTests",
            dependencies: [
                "Channels", "ChannelsBridge", "ChannelsTesting", "ChannelsBridgeTesting", "ChannelsSQLite",
                "TestSupport", grdb,
            ],
            swiftSettings: settings
        ),

        // Only with the trait Observability; without it, both are empty.
        .target(
            name: "ChannelsObservability",
            dependencies: [
                "Channels",
                "ChannelsBridge",
                "ChannelsDiagnostics",
                .product(name: "Logging", package: "swift-log", condition: onlyObserved),
                .product(name: "Metrics", package: "swift-metrics", condition: onlyObserved),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: onlyObserved),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: onlyObserved),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsObservabilityTests",
            dependencies: [
                "Channels",
                "ChannelsBridge",
                "ChannelsDiagnostics",
                "ChannelsTesting",
                "TestSupport",
                .target(name: "ChannelsObservability", condition: onlyObserved),
                .product(name: "InMemoryLogging", package: "swift-log", condition: onlyObserved),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: onlyObserved),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: onlyObserved),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle", condition: onlyObserved),
            ],
            swiftSettings: settings
        ),

        // Only with the trait Inspector; without it, these are empty.
        .target(
            name: "ChannelsInspector",
            dependencies: [
                "Channels",
                "ChannelsDiagnostics",
                .product(name: "Hummingbird", package: "hummingbird", condition: onlyWithInspector),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: onlyWithInspector),
                .product(name: "NIOCore", package: "swift-nio", condition: onlyWithInspector),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: onlyWithInspector),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: onlyWithInspector),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: onlyWithInspector),
                .product(name: "Logging", package: "swift-log", condition: onlyWithInspector),
            ],
            resources: [
                .embedInCode("Resources/index.html"), .embedInCode("Resources/style.css"),
                .embedInCode("Resources/icon.svg"), .embedInCode("Resources/main.js"),
                .embedInCode("Resources/feed.js"), .embedInCode("Resources/table.js"),
                .embedInCode("Resources/graph.js"), .embedInCode("Resources/detail.js"),
                .embedInCode("Resources/timeline.js"), .embedInCode("Resources/text.js"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "inspected",
            dependencies: ["Channels", .target(name: "ChannelsInspector", condition: onlyWithInspector)],
            path: "Tests/Browser/inspected",
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChannelsInspectorTests",
            dependencies: [
                "Channels",
                "ChannelsDiagnostics",
                "ChannelsTesting",
                "TestSupport",
                .target(name: "ChannelsInspector", condition: onlyWithInspector),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: onlyWithInspector),
                .product(name: "Logging", package: "swift-log", condition: onlyWithInspector),
                .product(name: "NIOPosix", package: "swift-nio", condition: onlyWithInspector),
                .product(name: "NIOCore", package: "swift-nio", condition: onlyWithInspector),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: onlyWithInspector),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: onlyWithInspector),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: onlyWithInspector),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
