#if NATS
import Channels

/// Identifies the bucket of the states, and converts its sequences to revisions.
///
/// A server that has lost its storage starts again with the first sequence. Revisions still increase, so that
/// a value in the new bucket is newer than every value in the old one.
///
/// `state` is guarded by its lock.
final class Bucket: Sendable {
    private struct State {
        /// The bucket as it was last seen.
        var last: StreamIdentity?
        /// The number that is added to a sequence.
        var offset: UInt64 = 0
        var highest: UInt64 = 0
        /// How often the bucket was found to have been replaced.
        var replacements = 0
        /// How often values were found to be lost.
        var losses = 0
        /// The revision of the last value at the last look.
        var looked: UInt64 { offset &+ (last?.lastSequence ?? 0) }
        /// The subjects of values that were deleted with a tool, and the sequences of their deletion markers.
        var deleted: [String: UInt64] = [:]
    }

    private let state = Locked(State())

    /// What was known before the server was asked.
    struct Mark {
        /// The highest revision that was received, or found in the bucket.
        var highest: UInt64 = 0
        /// How often the bucket was found to have been replaced.
        var replacements = 0
        /// The bucket, with the sequence of the highest revision; nil if it has never been looked at.
        var bucket: StreamIdentity?
    }

    var mark: Mark {
        state.withLock { state in
            var mark = Mark(
                highest: max(state.highest, state.looked),
                replacements: state.replacements,
                bucket: state.last
            )
            mark.bucket?.raise(to: mark.highest - state.offset)
            return mark
        }
    }

    /// How often the bucket was found to have been replaced.
    var replacements: Int { state.withLock { $0.replacements } }

    /// How often values were found to be lost.
    var losses: Int { state.withLock { $0.losses } }

    /// The revision of a value with this sequence.
    func revision(_ sequence: UInt64) -> UInt64 {
        state.withLock { state in
            let revision = state.offset &+ sequence
            state.highest = max(state.highest, revision)
            return revision
        }
    }

    /// Records that the last value of a subject was deleted, or that there is one again.
    func found(_ subject: String, revision: UInt64, isDeleted: Bool) {
        // A revision below the offset belongs to the previous bucket.
        state.withLock { $0.deleted[subject] = isDeleted && revision > $0.offset ? revision - $0.offset : nil }
    }

    /// The sequence of the deletion marker of a subject; 0 if it has none.
    func sequence(ofNone subject: String) -> UInt64 { state.withLock { $0.deleted[subject] ?? 0 } }

    /// Compares the bucket that the server has with the one seen before.
    ///
    /// - Parameter known: The ``mark`` before the server was asked. Its answer may not include what has
    ///   arrived since.
    /// - Returns: Whether the bucket was replaced, or has lost values that it had.
    func identify(_ found: StreamIdentity, known: Mark) -> Bool {
        state.withLock { state in
            // Another bucket has been found since the server was asked, so the answer may be outdated.
            guard known.replacements == state.replacements else { return false }
            let last = state.last ?? found
            let isAnother =
                state.last != nil
                && (last.created != found.created || state.offset &+ found.lastSequence < known.highest)
            // A newer answer may have arrived first.
            guard isAnother || found.lastSequence >= last.lastSequence else { return false }
            // What was received since the last look was a value, too.
            let subjects = max(last.subjects, known.highest > state.looked ? 1 : 0)
            state.last = found
            // Values were purged, or removed because of their age. The sequences continue.
            guard isAnother || found.subjects < subjects else { return false }
            state.losses += 1
            guard isAnother else { return true }
            state.offset = state.highest
            state.deleted = [:]
            state.replacements += 1
            return true
        }
    }
}
#endif
