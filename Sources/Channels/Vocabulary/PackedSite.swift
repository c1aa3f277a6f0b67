/// A place in the source code in one word, because every listener and every post has one: the address of the `fileID`
/// literal, and the line in the lowest 16 bits. Lines past 65,535 are shown as 65,535. Sound because a `StaticString`
/// of more than one scalar is a literal of the program image, which is zero-terminated, never freed, and below 2^47,
/// where every 64-bit system maps images.
@frozen @usableFromInline
package struct PackedSite: Equatable, Sendable {
    @usableFromInline package let word: UInt64

    @inlinable @inline(__always)
    package init(_ fileID: StaticString, _ line: UInt) {
        let address = fileID.hasPointerRepresentation ? unsafe UInt64(UInt(bitPattern: fileID.utf8Start)) : 0
        word = address << 16 | UInt64(min(line, 0xFFFF))
    }

    @inlinable package init() { word = 0 }

    @inlinable package static var unknown: PackedSite { PackedSite() }

    package var site: CallSite {
        let line = UInt(word & 0xFFFF)
        guard let start = unsafe UnsafePointer<UInt8>(bitPattern: UInt(word >> 16)) else {
            return CallSite(fileID: "", line: line)
        }
        return unsafe CallSite(fileID: String(cString: start), line: line)
    }
}
