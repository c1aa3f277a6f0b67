"""Notes, in gdb, which functions of Channels run, in their order. The program is ways.swift; TRACE names the file for the notes."""
import os
import re
import subprocess

import gdb

PROGRAM = gdb.current_progspace().filename
# Thunks, witnesses and what else the compiler makes for a function.
MADE = re.compile(r"thunk|witness|outlined|metadata|default argument|resume partial|one-time init|_unconditional|EnumTag|initialize|assign|destroy")

symbols = [line.split() for line in subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout.splitlines()]
symbols = [(int(fields[0], 16), fields[2]) for fields in symbols if len(fields) == 3 and fields[1] in "tT"]
names = subprocess.run(["swift", "demangle", "--simplified"], input="\n".join(name for _, name in symbols), capture_output=True, text=True, check=True).stdout.splitlines()

poster, is_posting, notes, functions = None, False, [], []


class Begin(gdb.Breakpoint):
    def stop(self):
        global poster, is_posting
        poster, is_posting = gdb.selected_thread().num, True
        for function in functions: function.enabled = True
        return False


class Return(gdb.Breakpoint):
    def stop(self):
        global is_posting
        is_posting = False
        return False


class Heard(gdb.Breakpoint):
    def stop(self):
        if poster is None: return False
        thread = gdb.selected_thread().num
        with open(os.environ["TRACE"], "w", encoding="utf-8") as file:
            for number, part, name in notes:
                if number in (poster, thread): file.write(f"{part} {name}\n")
        return True


class Function(gdb.Breakpoint):
    def stop(self):
        thread = gdb.selected_thread().num
        if thread != poster or is_posting: notes.append((thread, "post" if thread == poster else "hear", self.name))
        return False


for command in ["set pagination off", "set confirm off", "set print thread-events off"]: gdb.execute(command)
gdb.execute("starti", to_string=True)
base = min(int(line.split()[0], 16) for line in gdb.execute("info proc mappings", to_string=True).splitlines() if line.endswith(PROGRAM))
for (address, symbol), name in zip(symbols, names):
    place = f"*{base + address}"
    if name == "traced()": Begin(place, internal=True)
    if name == "returned()": Return(place, internal=True)
    if name == "heard()": Heard(place, internal=True)
    # Not where an async function goes on.
    if re.match(r"\$s[^5]*8Channels", symbol) and not re.search(r"T[QY]\d*_$", symbol) and not MADE.search(name):
        function = Function(place, internal=True)
        function.name, function.enabled = name, False
        functions.append(function)
gdb.execute("continue", to_string=True)
gdb.execute("kill")
