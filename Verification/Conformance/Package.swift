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
    name: "conformance",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-channels", path: "../.."),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "conformance",
            dependencies: [
                .product(name: "Channels", package: "swift-channels"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
