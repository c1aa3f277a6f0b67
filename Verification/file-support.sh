# shellcheck shell=bash
# What the proofs over a file share, after support.sh: builds the program, and sets `filed` and `work`.

if ! is_sqlite_installed; then install_packages libsqlite3-dev; fi
with_sqlite=(--package-path Verification --traits SQLite --scratch-path Verification/.build-sqlite -c release)
swift build "${with_sqlite[@]}" --product filed >/dev/null
filed=$(swift build "${with_sqlite[@]}" --show-bin-path)/filed
work=$(mktemp -d)
processes() { jobs -p; }
trap 'for process in $(processes); do kill -9 "$process" 2>/dev/null || true; done; rm -rf "$work"' EXIT

fail() {
    echo "error: this must not be; the end of $1:" >&2
    tail -n 5 "$1" >&2
    exit 1
}
