# shellcheck shell=bash disable=SC2034
# What several scripts need. A script sources this file after `set -euo pipefail`; it then runs in the root folder of the repository.

case $0 in
/*) script=$0 ;;
*) script=$PWD/$0 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Prints the comment at the head of the running script.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"; }

# What Scripts/format formats and Scripts/lint checks; `swift format` leaves out folders whose name begins with a dot.
formatted=(Sources Tests Benchmarks Verification Examples Package.swift)

# How Scripts/test builds everything: in a directory of its own, so that the usual one stays without traits. With NATS where libnats is installed.
packages_flags() {
    local traits=OpenCombine,AsyncAlgorithms,Observability,Inspector
    if is_libnats_installed; then traits+=,NATS; fi
    if is_sqlite_installed; then traits+=,SQLite; fi
    with_packages=(--traits "$traits" --scratch-path .build-packages -Xswiftc -warnings-as-errors)
}

# How a check builds what it needs: as Scripts/test does where that has built it, so that nothing is built twice; otherwise without traits.
choose_flags() {
    packages_flags
    if [ -d .build-packages/debug/Hummingbird.build ]; then build_flags=("${with_packages[@]}"); else build_flags=(-Xswiftc -warnings-as-errors); fi
}

# Builds what a check needs, and sets `binaries` to the folder of what was built: build TARGET|PRODUCT… with their options. Within Scripts/test, which has
# built everything, it does nothing: a build that finds nothing to do still takes seconds.
build() {
    choose_flags
    if [ -n "${CHANNELS_IS_BUILT:-}" ]; then
        binaries=.build-packages/debug
    else
        swift build "${build_flags[@]}" "$@" >/dev/null
        binaries=$(swift build "${build_flags[@]}" --show-bin-path)
    fi
}

# Whether this may install Debian packages: as root, where there is apt-get.
can_install() { command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; }

# Installs Debian packages.
install_packages() { { apt-get update && apt-get install --yes --no-install-recommends "$@"; } >/dev/null; }

# Whether a command is there, after an attempt to install it: has COMMAND PACKAGE…
has() {
    local command=$1
    shift
    command -v "$command" >/dev/null || { can_install && install_packages "$@" && command -v "$command" >/dev/null; }
}

# Waits until a file has a line that matches a pattern, for ten seconds at most: await FILE PATTERN
await() {
    for _ in $(seq 1 200); do
        grep -q -- "$2" "$1" 2>/dev/null && return 0
        sleep 0.05
    done
    echo "error: '$2' did not appear in $1: $(tail -n 20 "$1" 2>/dev/null)" >&2
    return 1
}

is_libnats_installed() { pkg-config --exists libnats 2>/dev/null || [ -e /usr/include/nats/nats.h ]; }

# It belongs to Apple's systems.
is_sqlite_installed() { [ "$(uname)" = Darwin ] || [ -e /usr/include/sqlite3.h ]; }

# Prints the Debian packages that the tests over NATS need and that are not installed.
missing_for_nats() {
    command -v pkg-config >/dev/null || echo pkg-config
    is_libnats_installed || echo libnats-dev
    command -v nats-server >/dev/null || echo nats-server
    command -v openssl >/dev/null || echo openssl
}

# Installs what the tests over NATS need, or fails and says what is missing.
provide_nats() {
    local missing
    missing=$(missing_for_nats | paste -sd ' ' -)
    [ -n "$missing" ] || return 0
    if ! can_install; then
        echo "error: these are missing: $missing (names of Debian's packages; with Homebrew: cnats and nats-server)" >&2
        return 1
    fi
    # One word for each package.
    # shellcheck disable=SC2086
    install_packages $missing
}

# Installs the clients in another language that the tests over NATS talk to, in .build-python; says what is skipped where there is no
# Python.
provide_python_clients() {
    local folder=.build-python requirements=Tests/ChannelsNATSTests/Python/requirements.txt
    cmp -s "$requirements" "$folder/requirements.txt" && return 0
    if ! has python3 python3 || ! { python3 -c 'import venv, ensurepip' 2>/dev/null || { can_install && install_packages python3-venv; }; }; then
        echo "Skipped: the tests with clients in Python need python3 with venv, which this script installs only as root on Debian."
        return 0
    fi
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
    cp "$requirements" "$folder"
}

# Starts a nats-server on a free port of the loopback interface, with its files in a directory, and sets `url` to its address:
# start_nats_server DIRECTORY [ARGUMENTS]. The caller stops the servers with `stop_nats_servers`.
servers=()
start_nats_server() {
    local directory=$1
    shift
    mkdir -p "$directory"
    nats-server --addr 127.0.0.1 --port -1 --ports_file_dir "$directory" "$@" >"$directory/log" 2>&1 &
    local server=$!
    servers+=("$server")
    await "$directory/nats-server_$server.ports" nats: || { cat "$directory/log" >&2; return 1; }
    url=$(grep -o 'nats://[0-9.:]*' "$directory/nats-server_$server.ports" | head -n 1)
}

stop_nats_servers() {
    local server
    for server in ${servers[@]+"${servers[@]}"}; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
}
