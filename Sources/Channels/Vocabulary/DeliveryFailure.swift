/// A listener that threw, and its error.
public struct DeliveryFailure: Sendable, CustomStringConvertible {
    /// The error.
    public let error: any Error
    /// The type of the owner; nil if the token owns the listener.
    public let ownerType: String?
    /// Where the listener was registered.
    public let registrationSite: CallSite

    /// Creates a failure, for test doubles.
    public init(error: any Error, ownerType: String?, registrationSite: CallSite) {
        self.error = error
        self.ownerType = ownerType
        self.registrationSite = registrationSite
    }

    /// One line: the error, the owner and the place.
    public var description: String {
        "\(ownerType ?? "token") registered at \(registrationSite): \(error)"
    }
}
