// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TillService",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-channels", path: "../..", traits: ["Observability"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "TillService",
            dependencies: [
                .product(name: "Channels", package: "swift-channels"),
                .product(name: "ChannelsBridge", package: "swift-channels"),
                .product(name: "ChannelsObservability", package: "swift-channels"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        )
    ]
)
