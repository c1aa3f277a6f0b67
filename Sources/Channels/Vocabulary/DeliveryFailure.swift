/// A listener that threw, and its error.
public struct DeliveryFailure: Sendable, CustomStringConvertible {
    /// The error that it threw.
    public let error: any Error
    /// The type of its owner; nil if the token owns the listener.
    public let ownerType: String?
    /// Where it was registered.
    public let registrationSite: RegistrationSite

    package init(error: any Error, ownerType: String?, registrationSite: RegistrationSite) {
        self.error = error
        self.ownerType = ownerType
        self.registrationSite = registrationSite
    }

    /// One line that names all three.
    public var description: String {
        "\(ownerType ?? "token") registered at \(registrationSite): \(error)"
    }
}
