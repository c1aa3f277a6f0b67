// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase
// As much of Apple's C library as the package uses. The results of functions of C may be ignored.

public var errno: Int32 {
    get { 0 }
    set {}
}
public let EINTR: Int32 = 4
public let EPIPE: Int32 = 32
public let EAGAIN: Int32 = 35
public let SIGINT: Int32 = 2
public let SIGTERM: Int32 = 15
public let SIGPIPE: Int32 = 13
public let STDIN_FILENO: Int32 = 0
public let STDOUT_FILENO: Int32 = 1
public let STDERR_FILENO: Int32 = 2
public func memcmp(_ a: UnsafeRawPointer!, _ b: UnsafeRawPointer!, _ n: Int) -> Int32 { 0 }
public func write(_ fd: Int32, _ p: UnsafeRawPointer!, _ n: Int) -> Int { 0 }
public func read(_ fd: Int32, _ p: UnsafeMutableRawPointer!, _ n: Int) -> Int { 0 }
public func isatty(_ fd: Int32) -> Int32 { 0 }
public func exit(_ code: Int32) -> Never { fatalError() }
public func abort() -> Never { fatalError() }

@discardableResult public func sched_yield() -> Int32 { 0 }
public struct malloc_statistics_t {
    public var blocks_in_use: UInt32 = 0; public var size_in_use: Int = 0; public var max_size_in_use: Int = 0;
    public var size_allocated: Int = 0; public init() {}
}
public func malloc_zone_statistics(_ zone: UnsafeMutableRawPointer?, _ s: UnsafeMutablePointer<malloc_statistics_t>!) {}
public typealias pthread_key_t = UInt
@discardableResult public func pthread_key_create(
    _ k: UnsafeMutablePointer<pthread_key_t>!,
    _ d: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> Int32 { 0 }
public func pthread_getspecific(_ k: pthread_key_t) -> UnsafeMutableRawPointer? { nil }
@discardableResult public func pthread_setspecific(_ k: pthread_key_t, _ v: UnsafeRawPointer?) -> Int32 { 0 }
public let O_RDONLY: Int32 = 0
public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32) -> Int32 { 0 }
@discardableResult public func close(_ fd: Int32) -> Int32 { 0 }
public func strerror(_ e: Int32) -> UnsafeMutablePointer<CChar>! { nil }
@discardableResult public func fflush(_ f: OpaquePointer?) -> Int32 { 0 }
public func getenv(_ n: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { nil }
public func strlen(_ n: UnsafePointer<CChar>!) -> Int { 0 }
@discardableResult public func setenv(_ n: UnsafePointer<CChar>!, _ v: UnsafePointer<CChar>!, _ o: Int32) -> Int32 { 0 }

public let EXIT_FAILURE: Int32 = 1
public let RTLD_LAZY: Int32 = 1
public func dlopen(_ path: UnsafePointer<CChar>!, _ mode: Int32) -> UnsafeMutableRawPointer! { nil }
public func dlsym(_ handle: UnsafeMutableRawPointer!, _ symbol: UnsafePointer<CChar>!) -> UnsafeMutableRawPointer! {
    nil
}
public struct timespec { public var tv_sec = 0; public var tv_nsec = 0; public init() {} }
public struct clockid_t: Sendable {}
public let CLOCK_PROCESS_CPUTIME_ID = clockid_t()
@discardableResult public func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!) -> Int32 { 0 }
