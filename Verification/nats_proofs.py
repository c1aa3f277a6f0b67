"""What the proofs over NATS in Python share: servers, requests to JetStream, and the program `bridged`, of which each line has a time."""
import argparse, json, os, pathlib, random, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

ROOT = pathlib.Path(__file__).resolve().parents[1]
STREAM = "PROOF"


def build():
    """Builds `bridged`, and returns its path."""
    flags = ["--package-path", "Verification", "--traits", "NATS", "--scratch-path", "Verification/.build-nats", "-c", "release", "-j", "2"]
    subprocess.run(["bash", "-c", "source Verification/support.sh; provide_nats"], cwd=ROOT, check=True)
    subprocess.run(["swift", "build", *flags, "--product", "bridged"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    path = subprocess.run(["swift", "build", *flags, "--show-bin-path"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return pathlib.Path(path.strip()) / "bridged"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets: each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets: each.close()
    return ports


def is_healthy(answer):
    """Whether a stream or consumer has a leader, and all its replicas have what that has."""
    cluster = answer.get("cluster") or {}
    return "leader" in cluster and all(replica.get("current") for replica in cluster.get("replicas", [{}]))


def fail(text):
    sys.exit(f"error: {text}")


class Server:
    """A nats-server, which may belong to a cluster, and keeps its port and its files when it is started again."""

    def __init__(self, work, name, port, cluster=None):
        self.name, self.port, self.folder, self.process = name, port, work / name, None
        self.folder.mkdir()
        lines = [f"server_name: {name}", f"listen: 127.0.0.1:{port}", f'jetstream {{ store_dir: "{self.folder}" }}',
                 'lame_duck_duration: "30s"', 'lame_duck_grace_period: "1s"']
        if cluster:
            own, others = cluster
            routes = ", ".join(f"nats://127.0.0.1:{other}" for other in others)
            lines.append(f"cluster {{ name: proof, listen: 127.0.0.1:{own}, routes: [{routes}] }}")
        (self.folder / "conf").write_text("\n".join(lines) + "\n")

    @property
    def url(self): return f"nats://127.0.0.1:{self.port}"

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(["nats-server", "--config", str(self.folder / "conf")], stdout=log, stderr=log)

    def end(self, with_signal=signal.SIGKILL):
        """Ends it, and returns when it has ended: SIGUSR2 begins the lame-duck mode."""
        self.process.send_signal(with_signal)
        self.process.wait()

    @property
    def is_running(self): return self.process is not None and self.process.poll() is None


class Servers:
    def __init__(self, work, count):
        ports = free_ports(2 * count)
        clusters = [(port, ports[count:]) if count > 1 else None for port in ports[count:]]
        self.all = [Server(work, f"server{index}", ports[index], clusters[index]) for index in range(count)]
        for server in self.all: server.start()
        self.wait("$JS.API.INFO", lambda answer: "error" not in answer)

    @property
    def urls(self): return ",".join(server.url for server in self.all)

    def ask(self, subject, body=None, timeout=2):
        """The answer of JetStream; None if there is none."""
        payload = json.dumps(body).encode() if body is not None else b""
        for server in self.all:
            if not server.is_running: continue
            try:
                with socket.create_connection(("127.0.0.1", server.port), timeout) as link:
                    link.sendall(b'CONNECT {"verbose":false,"lang":"proof","version":"1"}\r\nSUB _INBOX.proof%d 1\r\nPUB %b _INBOX.proof%d %d\r\n%b\r\n' % (
                        server.port, subject.encode(), server.port, len(payload), payload))
                    received, end = b"", time.monotonic() + timeout
                    while time.monotonic() < end:
                        part = link.recv(65_536)
                        if not part: break
                        received += part
                        if found := re.search(rb"\r\nMSG \S+ 1 (\d+)\r\n", received):
                            answer = received[found.end():]
                            if len(answer) >= int(found[1]): return json.loads(answer[: int(found[1])])
            except OSError: continue
        return None

    def wait(self, subject, condition, body=None, within=60):
        """Asks until the answer fulfils a condition."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            answer = self.ask(subject, body)
            if answer is not None and condition(answer): return answer
            time.sleep(0.1)
        fail(f"{subject} has no such answer within {within} s: {answer}")

    def server(self, name): return next((server for server in self.all if server.name == name), None)

    def leader(self, subject):
        """The server that leads a stream or consumer, if one does."""
        answer = self.ask(subject, timeout=1) or {}
        return self.server((answer.get("cluster") or {}).get("leader"))

    def end(self):
        for server in self.all:
            if server.is_running: server.end()


class Process:
    """A process of `bridged`: what it says, and when."""

    def __init__(self, path, *arguments, **environment):
        self.said = []
        environment = os.environ | {f"BRIDGED_{name}": str(value) for name, value in environment.items()}
        self.process = subprocess.Popen([str(path), *map(str, arguments)], stdout=subprocess.PIPE, text=True, env=environment)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout: self.said.append((time.monotonic(), line.rstrip()))

    def lines(self, word): return [(when, line.partition(" ")[2]) for when, line in list(self.said) if line.partition(" ")[0] == word]

    @property
    def heard(self): return [(when, int(number)) for when, number in self.lines("heard")]

    def wait(self, word, within):
        end = time.monotonic() + within
        while not self.lines(word):
            if time.monotonic() > end: fail(f"no '{word}' within {within} s; it said {[line for _, line in self.said[-5:]]}")
            time.sleep(0.02)

    def end(self, with_signal=signal.SIGTERM, within=30):
        if self.process.poll() is None: self.process.send_signal(with_signal)
        try: self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail(f"a process had not ended {within} s after a signal")
        self.reader.join()


def await_heard(processes, numbers, within):
    """Waits until the processes together have heard all the numbers; returns those that are missing."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        missing = set(numbers) - {number for process in processes for _, number in process.heard}
        if not missing: return []
        time.sleep(0.05)
    return sorted(missing)


def longest_silence(processes, start, end):
    """The longest time between two messages heard by any of the processes, between two instants; and when it began."""
    times = sorted([start, end] + [when for process in processes for when, _ in process.heard if start < when < end])
    return max((after - before, before - start) for before, after in zip(times, times[1:]))


def run(description, scenario, add_arguments=lambda parser: None):
    """Runs a scenario with arguments, a folder and a random generator of a seed, which it prints."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    add_arguments(parser)
    arguments = parser.parse_args()
    # Said first: it is needed if the proof does not end.
    print(f"seed {arguments.seed}", flush=True)
    work = pathlib.Path(tempfile.mkdtemp())
    path = build()
    try: scenario(arguments, work, path, random.Random(arguments.seed))
    finally: shutil.rmtree(work, ignore_errors=True)
