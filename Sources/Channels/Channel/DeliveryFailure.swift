/// A listener that threw, and its error.
public struct DeliveryFailure: Sendable, CustomStringConvertible {
    /// What it threw.
    public let error: any Error
    /// The type of its owner; nil if the token owns the listener.
    public let ownerType: String?
    /// Where it was registered.
    public let registrationSite: RegistrationSite

    /// Creates a failure, for tests of code that reads it.
    public init(error: any Error, ownerType: String? = nil, registrationSite: RegistrationSite) {
        self.error = error
        self.ownerType = ownerType
        self.registrationSite = registrationSite
    }

    init(_ error: any Error, _ listener: ListenerEntry, _ owner: AnyObject?) {
        self.error = error
        ownerType = owner.map { String(describing: type(of: $0)) }
        registrationSite = listener.site.site
    }

    /// One line that names all three.
    public var description: String {
        "\(ownerType ?? "token") registered at \(registrationSite): \(error)"
    }
}
