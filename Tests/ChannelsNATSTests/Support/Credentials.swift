#if NATS
/// An operator of NATS, an account and a user of it, as `nsc` would make them, for these tests alone. They do
/// not expire.
enum Credentials {
    static let operatorToken = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJPSVNHQko1TERNUk5ST0lDNkJUMlBEVVFHRlVON04zVjJVVDU3NlQzNTRRR1ZRQ\
        lhNVUpRIiwiaWF0IjoxNzY3MjI1NjAwLCJpc3MiOiJPQVY0MjNUQkNBSURWUjY1Uk9NVEtZRkpMVkM1UUtLRU1WUkJRVkNFN1g3VlVZRFJGR0Q0RlZYTyIsI\
        m5hbWUiOiJ0ZXN0Iiwic3ViIjoiT0FWNDIzVEJDQUlEVlI2NVJPTVRLWUZKTFZDNVFLS0VNVlJCUVZDRTdYN1ZVWURSRkdENEZWWE8iLCJuYXRzIjp7InR5c\
        GUiOiJvcGVyYXRvciIsInZlcnNpb24iOjJ9fQ.jWK2UR0Y59CegFps-fcKJKNKhNyOvYc-S4-73SCsb5eoeV9409fkPeM3kCGnPNiPqzTmpfxFw1pdsdHUJK\
        RPCA
        """
    static let account = "ACGYZHIGEDDFQWYMZGW7W62GM6WIK2BUIB4PV3DSN6EGEEKS3APYFYTC"
    static let accountToken = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiI0S0JJS0FTRE1PVUFUVlNYRUNKR0s2UFlQS1FHSUFJVDJXN0dVQkJYMlUyQVI0R\
        1RBM0tBIiwiaWF0IjoxNzY3MjI1NjAwLCJpc3MiOiJPQVY0MjNUQkNBSURWUjY1Uk9NVEtZRkpMVkM1UUtLRU1WUkJRVkNFN1g3VlVZRFJGR0Q0RlZYTyIsI\
        m5hbWUiOiJzaG9wIiwic3ViIjoiQUNHWVpISUdFRERGUVdZTVpHVzdXNjJHTTZXSUsyQlVJQjRQVjNEU042RUdFRUtTM0FQWUZZVEMiLCJuYXRzIjp7InR5c\
        GUiOiJhY2NvdW50IiwibGltaXRzIjp7InN1YnMiOi0xLCJkYXRhIjotMSwicGF5bG9hZCI6LTEsImltcG9ydHMiOi0xLCJleHBvcnRzIjotMSwiY29ubiI6L\
        TEsImxlYWYiOi0xLCJ3aWxkY2FyZHMiOnRydWV9LCJkZWZhdWx0X3Blcm1pc3Npb25zIjp7InB1YiI6e30sInN1YiI6e319LCJ2ZXJzaW9uIjoyfX0.QqMHV\
        r6wcwSyO9o5h3uHcA8jlVDMkQvj0x2GSl2BZaD5sNQOD4vkYdCrVAeZRihOnIEoFSdZheUskondjKm9Cg
        """
    /// May publish and subscribe to `shop.>`.
    static let userToken = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJNQTZQM1BUNlJVRlBITEJGUVZQRDZYTzVRTUZDVllXR0wzVktKM0JVNjNUSlZYR\
        1FXTE9RIiwiaWF0IjoxNzY3MjI1NjAwLCJpc3MiOiJBQ0dZWkhJR0VEREZRV1lNWkdXN1c2MkdNNldJSzJCVUlCNFBWM0RTTjZFR0VFS1MzQVBZRllUQyIsI\
        m5hbWUiOiJ0aWxsIiwic3ViIjoiVUNKNVNDRVQ3T1JUTTdEWEVHUk1KN1JOUlBYSlVFT0ZIV1haNkhWVzROTjdYQU5JQUtMQ1ZHRFgiLCJuYXRzIjp7InR5c\
        GUiOiJ1c2VyIiwicHViIjp7ImFsbG93IjpbInNob3AuPiIsIl9JTkJPWC4-Il19LCJzdWIiOnsiYWxsb3ciOlsic2hvcC4-IiwiX0lOQk9YLj4iXX0sInN1Y\
        nMiOi0xLCJkYXRhIjotMSwicGF5bG9hZCI6LTEsInZlcnNpb24iOjJ9fQ.AobXp9bBXv6AQ7PfrvwB2G0YaBe8XUCJF8ZK_ZW7bFoAia1r36Nwia7Dyl4F8o\
        mhJD246CeMHnw0dousxMCyCw
        """
    static let seed = "SUAN4A5G62I4DA7GE4QSN5BQFOL2SDBDLLD4LNZFK4IEG4ABPIM3CUPOFU"
    /// Of somebody else.
    static let strangersSeed = "SUACFIXFMBEDRTEPQOQ5YOGYSMRT6BRQEOPKTGLDXIB7MOJSXYN4FXW3BI"

    static let serverConfiguration = """
        operator: \(operatorToken)
        resolver: MEMORY
        resolver_preload: { \(account): \(accountToken) }
        """

    /// What stands in a credentials file.
    static func file(seed: String) -> String {
        """
        -----BEGIN NATS USER JWT-----
        \(userToken)
        ------END NATS USER JWT------

        -----BEGIN USER NKEY SEED-----
        \(seed)
        ------END USER NKEY SEED------

        """
    }
}
#endif
