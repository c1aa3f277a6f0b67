"""What the proofs that play histories share: a copy of a library and its histories, in which faults are planted."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

SETTINGS = """// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .define("SQLite"),
]
"""


def copy(source, target):
    """Copies what differs, so that the rest is not built again."""
    if not target.exists() or source.read_bytes() != target.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


class HistoriesProof:
    """Plays histories in a copy of `folders` with its own `manifest`. Each of `plants` has a name, a file in `sources`, what stands there, and what
    is put in its place."""

    def __init__(self, name, manifest, folders, sources, plants):
        self.copy, self.manifest, self.folders, self.sources, self.plants = ROOT / name, manifest, folders, sources, plants

    def check_places(self):
        for name, file, before, _ in self.plants:
            found = (ROOT / self.sources / file).read_text().count(before)
            if found != 1:
                sys.exit(f"error: '{name}' cannot be planted: its place in {file} has changed ({found} found)")

    def prepare(self):
        self.copy.mkdir(exist_ok=True)
        for folder in self.folders:
            paths = [ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*")
            wanted = {
                path.relative_to(ROOT): path for path in paths if path.is_file() and ".docc" not in str(path.relative_to(ROOT))
            }
            for path in list((self.copy / folder).rglob("*")):
                if path.is_file() and path.relative_to(self.copy) not in wanted:
                    path.unlink()
            for relative, path in wanted.items():
                copy(path, self.copy / relative)
        manifest = self.copy / "Package.swift"
        if not manifest.exists() or manifest.read_text() != self.manifest:
            manifest.write_text(self.manifest)

    def build(self):
        command = ["swift", "build", "-c", "release", "-Xswiftc", "-enable-testing", "--build-tests"]
        result = subprocess.run(command, cwd=self.copy, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"error: the copy does not build\n{result.stdout[-3000:]}{result.stderr[-3000:]}")

    def play(self, count, start=0, options=()):
        environment = dict(os.environ, CHANNELS_HISTORIES=str(count), CHANNELS_FIRST_HISTORY=str(start))
        command = ["swift", "test", "-c", "release", "-Xswiftc", "-enable-testing", "--skip-build", "--disable-xctest"]
        return subprocess.run([*command, *options], cwd=self.copy, env=environment, capture_output=True, text=True)

    def run(self):
        arguments = sys.argv[1:]
        count = int(arguments[0]) if arguments and arguments[0].isdigit() else 10_000
        self.check_places()
        if "--list" in arguments:
            print("\n".join(plant[0] for plant in self.plants))
        elif "--planted" in arguments:
            self.plant(count, arguments[arguments.index("--planted") + 1 :])
        else:
            self.keep(count, int(arguments[arguments.index("--from") + 1]) if "--from" in arguments else 0)

    def keep(self, count, start):
        self.prepare()
        self.build()
        begin = time.monotonic()
        result = self.play(count, start)
        if result.returncode != 0:
            sys.exit(f"error: a promise is broken\n{result.stdout[:20000]}")
        print(f"{count} histories from {start} on: every promise was kept ({time.monotonic() - begin:.0f} s)")
        # One after the other: what another history still looks at ends a little later, and so may another task go first.
        runs = [self.play(200, start, ["--no-parallel"]).stdout for _ in range(2)]
        first, second = ({*re.findall("digest of part.*", run)} for run in runs)
        if len(first) != 2 or first != second:
            sys.exit(f"error: the same seeds are other histories in the next process: {first}, {second}")

    def plant(self, count, words):
        chosen = [plant for plant in self.plants if not words or any(word in plant[0] for word in words)]
        missed = []
        for name, file, before, after in chosen:
            self.prepare()
            source = self.copy / self.sources / file
            source.write_text(source.read_text().replace(before, after))
            self.build()
            result = self.play(count)
            found = re.findall(r"history (\d+), again[^\n]*\n\s*↳?\s*([^\n]*)", result.stdout)
            if result.returncode != 0 and found:
                seed, problem = min(found, key=lambda pair: int(pair[0]))
                print(f"found: {name}\n       history {seed}: {problem[:140]}", flush=True)
            elif result.returncode != 0:
                print(f"found: {name}\n       {result.stdout[-200:].strip() or 'it ends'}", flush=True)
            else:
                missed.append(name)
                print(f"MISSED: {name}", flush=True)
        if missed:
            sys.exit(f"error: {len(missed)} of {len(chosen)} planted faults were missed")
        print(f"{len(chosen)} of {len(chosen)} planted faults were found.")
