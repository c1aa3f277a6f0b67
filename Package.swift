// swift-tools-version: 6.2
import PackageDescription

/// The upcoming features every target is compiled with; see CONTRIBUTING.md.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "swift-channels",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Channels", targets: ["Channels"]),
        .library(name: "ChannelsBridge", targets: ["ChannelsBridge"]),
        .library(name: "ChannelsTesting", targets: ["ChannelsTesting"]),
        .executable(name: "tour", targets: ["tour"]),
    ],
    targets: [
        .target(name: "CChannels"),
        .target(name: "Channels", dependencies: ["CChannels"], swiftSettings: settings),
        .target(name: "ChannelsBridge", dependencies: ["Channels"], swiftSettings: settings),
        .target(name: "ChannelsTesting", dependencies: ["Channels", "ChannelsBridge"], swiftSettings: settings),
        .executableTarget(
            name: "tour",
            dependencies: ["Channels"],
            exclude: ["Resources/README.md"],
            resources: [.embedInCode("Resources/tips.csv")],
            swiftSettings: settings
        ),
        .testTarget(name: "ChannelsTests", dependencies: ["Channels"], swiftSettings: settings),
        .testTarget(
            name: "ChannelsBridgeTests",
            dependencies: ["Channels", "ChannelsBridge", "ChannelsTesting"],
            swiftSettings: settings
        ),
        .testTarget(name: "TourTests", dependencies: ["tour"], swiftSettings: settings),
        .testTarget(
            name: "MainActorDefaultTests",
            dependencies: ["Channels"],
            swiftSettings: settings + [.defaultIsolation(MainActor.self)]
        ),
    ],
    swiftLanguageModes: [.v6]
)
