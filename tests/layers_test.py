"""Enforces src/LAYERS: includes only go down, vendor headers stay in leaves, files are short and described."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
SRC = ROOT / "src"
LONGEST_FILE = 800
LONGEST_CLASS = 300
# The lists of kernels, which find an op's kernel by its name.
KERNEL_LISTS = ("backends/cpu/cpu_device.cpp", "backends/cuda/cuda_device.cpp")
# The one list that names the leaves of each kind.
LISTS = {"backends/backends.cpp": "backends/", "comm/transports.cpp": "comm/",
         "backends/cuda/gpu_transport.cpp": "comm/nccl"}
# The only files in the folder of backends, apart from the leaves.
BACKEND_LISTS = {"backends/backends.cpp", "backends/kernel_list.h", "backends/kernels.def"}
# The leaves that may include a vendor's headers.
VENDORS = {
    r"(oneapi/)?dnnl": ["backends/cpu"],
    r"cudnn|cublas|curand|nvrtc": ["backends/cuda"],
    r"cuda|nvtx": ["backends/cuda", "comm/nccl"],
    r"nccl": ["comm/nccl"],
    r"gloo/": ["comm/gloo"],
}
# Internal headers whose code the tool compiles in, because the library does not export it.
TOOL_SHARES = ("core/atomic_file.h", "core/error.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_layers():
    """Returns the rooms that each room may include from, according to src/LAYERS."""
    rooms = {}
    for line in (SRC / "LAYERS").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, _, allowed = line.partition(":")
            rooms[name.strip()] = allowed.split()
    return rooms


def source_files():
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".def", ".c"):
            yield path, path.relative_to(SRC).as_posix()


def room_of(name, rooms):
    """Returns a file's room: the longest prefix of its path in the table, else its first folder."""
    inside = [room for room in rooms if name.startswith(room + "/")]
    return max(inside, key=len) if inside else name.split("/")[0] if "/" in name else ""


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def is_leaf(room):
    return "/" in room


def check_rooms(rooms):
    """Every folder of src/ is in the table. The folder of backends contains only lists and leaves."""
    for path, name in source_files():
        room = room_of(name, rooms)
        if "/" in name and room not in rooms:
            yield f"src/{name}: room '{room}' is not in src/LAYERS"
        if room == "backends" and name not in BACKEND_LISTS:
            yield f"src/{name}: lies in no leaf of backends/"


def check_cycles(rooms):
    """The table itself only goes down."""
    done = set()

    def visit(room, path):
        if room in path:
            yield "src/LAYERS: a circle " + " -> ".join(path[path.index(room):] + [room])
        elif room not in done:
            for below in rooms.get(room, []):
                yield from visit(below, path + [room])
            done.add(room)

    for room, allowed in rooms.items():
        for below in allowed:
            if below not in rooms:
                yield f"src/LAYERS: room '{room}' may include from '{below}', which is no room"
            elif is_leaf(below):
                yield f"src/LAYERS: room '{room}' may include from the leaf '{below}'"
        yield from visit(room, [])


def check_includes(rooms):
    """Each include of a room's header is allowed by the table, and the header is there."""
    for path, name in source_files():
        room = room_of(name, rooms)
        if room == "":
            continue
        for number, is_quoted, target in includes(path):
            if not is_quoted or target.startswith("troika/"):
                continue
            if "/" not in target:
                yield f"src/{name}:{number}: includes \"{target}\" without its room"
                continue
            if not (SRC / target).is_file():
                yield f"src/{name}:{number}: includes \"{target}\", which is not in src/"
                continue
            into = room_of(target, rooms)
            if into == room or is_leaf(into):
                continue  # leaves have their own check
            if into not in rooms.get(room, []):
                yield f"src/{name}:{number}: room '{room}' may not include from '{into}' ({target})"


def check_leaves(rooms):
    """Only a leaf itself, and the list that names the leaf, include it."""
    for path, name in source_files():
        room = room_of(name, rooms)
        for number, is_quoted, target in includes(path):
            into = room_of(target, rooms)
            if not is_quoted or not is_leaf(into) or into == room:
                continue
            if not (name in LISTS and into.startswith(LISTS[name])):
                yield f"src/{name}:{number}: only the one list may include from the leaf '{into}' ({target})"


def check_vendors(rooms):
    """Vendor headers appear only in their own leaf."""
    for path, name in source_files():
        for number, _, target in includes(path):
            if (SRC / target).is_file():
                continue
            for pattern, leaves in VENDORS.items():
                if re.match(pattern, target) and room_of(name, rooms) not in leaves:
                    yield f"src/{name}:{number}: <{target}> belongs in {' or '.join(leaves)}"
                    break


def check_tool(rooms):
    """The tool includes only the public headers, its own files and core's atomic files."""
    if rooms.get("cli") != ["core"]:
        yield f"src/LAYERS: the tool may include from core alone, not from {rooms.get('cli')}"
    for path, name in source_files():
        if not name.startswith("cli/"):
            continue
        for number, is_quoted, target in includes(path):
            own = target.startswith(("cli/", *TOOL_SHARES)) or (path.parent / target).is_file()
            internal = (SRC / target).is_file() and not own
            if internal or (is_quoted and not own and not target.startswith("troika/")):
                yield f"src/{name}:{number}: the tool may include troika/*, its own files and {', '.join(TOOL_SHARES)}, not {target}"


def check_file_cycles(rooms):
    """No header includes itself, directly or through other headers."""
    graph = {}
    for path, name in source_files():
        graph[name] = [t for _, is_quoted, t in includes(path) if is_quoted and (SRC / t).is_file()]
    state = {}

    def visit(name, path):
        state[name] = "open"
        for target in graph.get(name, []):
            if state.get(target) == "open":
                yield "a circle of includes: " + " -> ".join((path + [name])[(path + [name]).index(target):] + [target])
            elif target not in state:
                yield from visit(target, path + [name])
        state[name] = "done"

    for name in graph:
        if name not in state:
            yield from visit(name, [])


def check_lengths(rooms):
    for path, name in source_files():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            yield f"src/{name}: has {lines} lines, may have {LONGEST_FILE}"


def class_sizes():
    """Returns the lines of each class: its body, and every definition `Class::` in its room."""
    bodies, definitions = {}, {}
    for path, name in source_files():
        lines = path.read_text(encoding="utf-8").splitlines()
        room = name.rsplit("/", 1)[0]
        for i, line in enumerate(lines):
            opened = re.match(r"(?:template <[^>]*>\s*)?(?:class|struct) (\w+)\b[^;]*\{$", line)
            if opened:
                end = next(j for j in range(i, len(lines)) if lines[j].startswith("}"))
                scope = room if path.suffix in (".h", ".cuh") else name  # a class in a source file is local to the file
                bodies[scope, opened[1]] = bodies.get((scope, opened[1]), 0) + end - i + 1
            defined = re.match(r"[\w:<>,*&~ ]*?\b(\w+)::(?:~?\w+|operator\W+)\(", line)
            if defined and not line.endswith(";"):
                end = next((j for j in range(i, len(lines)) if lines[j].startswith("}")), i) if not line.endswith("}") else i
                for scope in (room, name):
                    key = scope, defined[1]
                    definitions[key] = definitions.get(key, 0) + end - i + 1
    return {key: lines + definitions.get(key, 0) for key, lines in bodies.items()}


def check_classes(rooms):
    for (scope, name), lines in sorted(class_sizes().items()):
        if lines > LONGEST_CLASS:
            yield f"src/{scope}: class {name} has {lines} lines over all its files, may have {LONGEST_CLASS}"


def matching_lines(pattern, exempt):
    for path, name in source_files():
        if name in exempt:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//")[0]
            if re.search(pattern, code):
                yield f"src/{name}:{number}: {code.strip()}"


def check_op_names(rooms):
    """Only ops/ and the lists of kernels compare names of ops; other code uses definitions and traits."""
    name = r"(op->name|name_of\(\*[\w.>-]*op\))"
    pattern = rf"{name}\s*(==|!=|\.(starts_with|ends_with|find|rfind|compare))|(==|!=)\s*{name}|\bop\b\s*(==|!=)\s*\""
    for problem in matching_lines(pattern, KERNEL_LISTS):
        if not problem.startswith("src/ops/"):
            yield problem


def check_rank_arithmetic(rooms):
    """World ranks, parts and shares are numbers without arithmetic, except in RankMap."""
    rank = r"\b(rank|replica|share|part|position|stage)(_|\(\w*\)|\[\w*\])?"
    count = r"(\w+(\.|->))*(parts|channels|shares|positions|ranks)_?(\(\))?"
    pattern = rf"{rank} [%/] |{rank} \* {count}\b"
    exempt = ("parallel/rank_map.h", "parallel/rank_map.cpp")
    for problem in matching_lines(pattern, exempt):
        if not problem.startswith(("src/backends/", "src/ops/")):
            yield problem
    for problem in matching_lines(rf"[%/] {count}\b(?!\.)", exempt):
        if problem.startswith(("src/train/", "src/plan/", "src/api/", "src/runtime/")):
            yield problem


def check_environment(rooms):
    """The library reads environment variables in one place. The tool is a separate program."""
    for path, name in source_files():
        if name != "core/environment.cpp" and not name.startswith("cli/") and re.search(r"\bgetenv\b", path.read_text(encoding="utf-8")):
            yield f"src/{name}: calls getenv; environment variables are read in src/core/environment.cpp"


def check_first_lines(rooms):
    """The first line of a source file describes the file."""
    for path, name in source_files():
        first = (path.read_text(encoding="utf-8").splitlines() or [""])[0]
        if not re.match(r"(//|/\*) \S", first):
            yield f"src/{name}: begins with '{first[:40]}', needs a line of comment that says what it is"


CHECKS = {
    "every room is in the table": check_rooms,
    "the table goes down only": check_cycles,
    "includes go down only": check_includes,
    "leaves are included by the one list that names them": check_leaves,
    "vendor headers stay in their leaf": check_vendors,
    "the tool sees the public headers and core's atomic files": check_tool,
    "includes run in no circle": check_file_cycles,
    "no file is too long": check_lengths,
    "no class is too long": check_classes,
    "ops are compared by definition, not by name": check_op_names,
    "only RankMap calculates with ranks": check_rank_arithmetic,
    "environment variables are read in one place": check_environment,
    "every file says what it is": check_first_lines,
}


def main():
    rooms = read_layers()
    failed = 0
    for name, check in CHECKS.items():
        problems = list(check(rooms))
        failed += bool(problems)
        print(f"not ok {name} {'; '.join(problems)}" if problems else f"ok {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
