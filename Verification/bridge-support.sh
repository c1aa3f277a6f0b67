# shellcheck shell=bash
# What the proofs over NATS share, after support.sh: builds the program, and sets `bridged` and `work`.

provide_nats
with_nats=(--package-path Verification --traits NATS --scratch-path Verification/.build-nats -c release)
swift build "${with_nats[@]}" --product bridged >/dev/null
bridged=$(swift build "${with_nats[@]}" --show-bin-path)/bridged
work=$(mktemp -d)
processes() { jobs -p; }
trap 'for process in $(processes); do kill -9 "$process" 2>/dev/null || true; done; stop_nats_servers; rm -rf "$work"' EXIT

# The numbers that a process heard, in order: heard LOG
heard() { sed -n 's/^heard //p' "$1"; }

# Counts what went wrong with numbered messages, of which first deliveries must be in order: figures LOG COUNT
figures() {
    read -r lost doubled disordered < <(heard "$1" | awk -v count="$2" '
        seen[$1]++ { doubled++; next }
        $1 < highest { disordered++ }
        $1 > highest { highest = $1 }
        { unique++ }
        END { print count - unique, doubled + 0, disordered + 0 }')
    dead=$(grep -c '^dead' "$1" || true)
}

fail() {
    echo "error: this must not be; the end of $1:" >&2
    tail -n 5 "$1" >&2
    exit 1
}
