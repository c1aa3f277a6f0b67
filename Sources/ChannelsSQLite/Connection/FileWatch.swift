#if SQLite
internal import Foundation

/// The files that a connection wants the system to watch.
struct WatchList: Equatable {
    /// SQLite's write-ahead log, to which every commit writes.
    var log: String?
    /// The number of the session. In another session, the log may be another file.
    var session = 0
    /// The files of other members, which are closed when the members end.
    var members: Set<String> = []
}

/// Receives hints from the system that somebody has written to a file or closed one. Only one thread uses it.
///
/// A hint only means that it is worth looking, because it comes before the commit is visible. On Linux, hints
/// come from inotify; on Apple's systems, from a kqueue, which does not report members. If the system has no
/// watch left, there are no hints.
final class FileWatch {
    struct Hints {
        var isLogWritten = false
        var hasMemberClosed = false
    }

    private var list = WatchList()

    /// Waits until there is a hint, the wake-up is rung, or a time has come.
    func wait(until time: ContinuousClock.Instant, _ wakeUp: WakeUp) -> Hints {
        let left = max(ContinuousClock.now.duration(to: time), .zero).components
        let seconds = min(left.seconds, 3_600)
        wait(timespec(tv_sec: Int(seconds), tv_nsec: Int(left.attoseconds / 1_000_000_000)), wakeUp.reader)
        wakeUp.clear()
        return takeHints()
    }

    #if !canImport(Darwin)
    private let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    private var log: Int32 = -1
    private var members: [String: Int32] = [:]
    private var pending = Hints()

    /// Whether there are hints of commits by others.
    var isWatching: Bool { log >= 0 }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func follow(_ new: WatchList) {
        guard new != list, descriptor >= 0 else { return }
        if new.log != list.log || new.session != list.session {
            if log >= 0 { inotify_rm_watch(descriptor, log) }
            log = new.log.map { inotify_add_watch(descriptor, $0, UInt32(IN_MODIFY)) } ?? -1
        }
        for path in list.members.subtracting(new.members) {
            if let member = members.removeValue(forKey: path) { inotify_rm_watch(descriptor, member) }
        }
        for path in new.members.subtracting(list.members) {
            // The member is the only one that has opened its file for writing.
            let member = inotify_add_watch(descriptor, path, UInt32(IN_CLOSE_WRITE) | UInt32(IN_DELETE_SELF))
            // If the file cannot be watched, the member may have ended before.
            if member >= 0 { members[path] = member } else { pending.hasMemberClosed = true }
        }
        list = new
    }

    private func wait(_ time: timespec, _ wakeUp: Int32) {
        if pending.hasMemberClosed { return }
        var events = [pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)]
        if descriptor >= 0 { events.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
        let isShort = time.tv_sec == 0 && time.tv_nsec < 1_000_000
        let milliseconds = isShort ? 0 : Int32(clamping: time.tv_sec * 1_000 + (time.tv_nsec + 999_999) / 1_000_000)
        guard poll(&events, UInt(events.count), milliseconds) == 0, isShort else { return }
        // `poll` counts in milliseconds. A wait this short need not be interruptible.
        var rest = timespec(tv_sec: 0, tv_nsec: min(time.tv_nsec, 300_000))
        nanosleep(&rest, nil)
    }

    /// Removes and returns the hints since the last call. They include writes of this thread.
    func takeHints() -> Hints {
        var hints = pending
        pending = Hints()
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while descriptor >= 0 {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            var start = 0
            while start + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: inotify_event.self) }
                start += MemoryLayout<inotify_event>.size + Int(event.len)
                if event.wd == log { hints.isLogWritten = true } else { hints.hasMemberClosed = true }
                // The queue of events has overflowed.
                if event.wd < 0 { hints.isLogWritten = true }
            }
        }
        return hints
    }
    #else
    private let queue = kqueue()
    private var log: Int32 = -1
    private var hints = Hints()

    var isWatching: Bool { queue >= 0 && log >= 0 }

    deinit {
        if log >= 0 { close(log) }
        if queue >= 0 { close(queue) }
    }

    func follow(_ new: WatchList) {
        guard new.log != list.log || new.session != list.session, queue >= 0 else { return }
        // Closing the file ends the watch.
        if log >= 0 { close(log) }
        log = new.log.map { open($0, O_EVTONLY | O_CLOEXEC) } ?? -1
        list = new
        guard log >= 0 else { return }
        var change = kevent(
            ident: UInt(log),
            filter: Int16(EVFILT_VNODE),
            flags: UInt16(EV_ADD | EV_CLEAR),
            fflags: UInt32(NOTE_WRITE | NOTE_EXTEND),
            data: 0,
            udata: nil
        )
        kevent(queue, &change, 1, nil, 0, nil)
    }

    private func wait(_ time: timespec, _ wakeUp: Int32) {
        guard queue >= 0 else {
            var event = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
            poll(&event, 1, Int32(clamping: time.tv_sec * 1_000 + time.tv_nsec / 1_000_000))
            return
        }
        var time = time
        var change = kevent(
            ident: UInt(wakeUp),
            filter: Int16(EVFILT_READ),
            flags: UInt16(EV_ADD),
            fflags: 0,
            data: 0,
            udata: nil
        )
        note(&change, 1, &time)
    }

    func takeHints() -> Hints {
        var time = timespec()
        if queue >= 0 { note(nil, 0, &time) }
        defer { hints = Hints() }
        return hints
    }

    private func note(_ change: UnsafePointer<kevent>?, _ changes: Int32, _ time: UnsafePointer<timespec>) {
        var events = [kevent](repeating: kevent(), count: 4)
        let count = kevent(queue, change, changes, &events, Int32(events.count), time)
        for event in events.prefix(Int(max(count, 0))) where event.filter == Int16(EVFILT_VNODE) {
            hints.isLogWritten = true
        }
    }
    #endif
}
#endif
