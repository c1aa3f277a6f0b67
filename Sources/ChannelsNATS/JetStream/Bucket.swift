#if NATS
import Channels

/// Which bucket the states are in, and how its sequences become revisions.
///
/// A server that has lost its storage begins again with the first sequence. Revisions increase all the same, so
/// that a value of the new bucket is newer than every value of the old one.
///
/// Guarded by its lock.
final class Bucket: Sendable {
    private struct State {
        /// The bucket when it was last seen.
        var last: StreamIdentity?
        /// The number added to a sequence.
        var offset: UInt64 = 0
        var highest: UInt64 = 0
        /// How often the bucket was found to be another one.
        var replacements = 0
        /// How often values were found to be lost.
        var losses = 0
        /// The subjects of values that were deleted with a tool, and the sequences of what says so.
        var deleted: [String: UInt64] = [:]
    }

    private let state = Locked(State())

    /// The state known before the server is asked.
    struct Mark {
        /// The highest revision.
        var highest: UInt64 = 0
        /// How often the bucket was found to be another one.
        var replacements = 0
    }

    var mark: Mark { state.withLock { Mark(highest: $0.highest, replacements: $0.replacements) } }

    /// How often the bucket was found to be another one.
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

    /// The last value of a subject was deleted, or there is one again.
    func found(_ subject: String, revision: UInt64, isDeleted: Bool) {
        // One below the offset was deleted in the bucket before.
        state.withLock { $0.deleted[subject] = isDeleted && revision > $0.offset ? revision - $0.offset : nil }
    }

    /// The last sequence of a subject that has no value.
    func sequence(ofNone subject: String) -> UInt64 { state.withLock { $0.deleted[subject] ?? 0 } }

    /// The server has this bucket.
    ///
    /// - Parameter known: ``mark`` before the server was asked: what came since may be missing in its answer.
    /// - Returns: Whether it is another one than before, or has lost values that it had.
    func identify(_ found: StreamIdentity, known: Mark) -> Bool {
        state.withLock { state in
            // Another one has been found since: the answer may be older.
            guard known.replacements == state.replacements else { return false }
            let last = state.last ?? found
            let isAnother =
                state.last != nil
                && (last.created != found.created || state.offset &+ found.lastSequence < known.highest)
            // Another answer, of which more is known, may have been faster.
            guard isAnother || found.lastSequence >= last.lastSequence else { return false }
            state.last = found
            // Purged, or too old for a bucket with a limit of age: the sequences go on.
            guard isAnother || found.subjects < last.subjects else { return false }
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
