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
    r"mpi\.h": ["comm/mpi"],
}
# Internal headers whose code the tool compiles in, because the library does not export it.
TOOL_SHARES = ("core/atomic_file.h", "core/bilinear_resize.h", "core/split.h", "core/error.h", "core/file_system.h", "core/machine.h", "core/path.h", "core/windows/error_text.h")
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


def matching_lines(finds, exempt):
    """Yields the lines of code for which finds(code, file) is true."""
    for path, name in source_files():
        if name.startswith(exempt):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//")[0]
            if finds(code, name):
                yield f"src/{name}:{number}: {code.strip()}"


def op_names():
    return re.findall(r"^TROIKA_OP\((\w+)\)", (SRC / "ops/ops.def").read_text(), re.M)


# An op's name as a text, or as a member of its definition. A std::string or std::string_view may
# be made of either.
OP_TEXT = rf'(?:[\w:]+[({{])?"(?:{"|".join(op_names())})"(?:sv?\b)?'
OP_NAME = r"(?:[\w:]+[({])?(?:\*?[\w.>()-]*\b(?:\w+_)?(?:op|def)_?(?:->|\.)name\b|name_of\(\*[\w.>()-]*op_?\))"
EQUAL = r"\s*(?:==|!=|<=>)\s*"
SEARCH = r"\s*\.(?:starts_with|ends_with|find|rfind|compare|contains|count|at)\("
OP_COMPARED = re.compile("|".join((
    rf"{OP_NAME}[)}}]*(?:{EQUAL}|{SEARCH})", rf"(?:{EQUAL}|{SEARCH}|strn?cmp\([^;]*){OP_NAME}",
    rf"{OP_TEXT}[)}}]*(?:{EQUAL}|{SEARCH})", rf"(?:{EQUAL}|{SEARCH}|strn?cmp\([^;]*){OP_TEXT}",
    rf"\bop\b{EQUAL}\"", rf"\"{EQUAL}op\b", rf"{EQUAL}find_op\(", rf"\bfind_op\([^()]*\){EQUAL}(?!nullptr)")))


def compares_op_names(code, file="train/trainer.cpp"):
    return bool(OP_COMPARED.search(code))


def check_op_names(rooms):
    """Only ops/ and the lists of kernels compare names of ops; other code uses definitions and traits."""
    yield from matching_lines(compares_op_names, ("ops/", *KERNEL_LISTS))


# A rank or a part, such as `world_rank` or `part_of(rank)`, and the brackets that close after it.
RANK = r"\b(?:\w+_)?(?:rank|replica|share|part|position|stage)(?:_|(?:_of)?\([\w.]*\)|\[[\w.]*\])?[)}\]]*"
# A number of ranks or parts. A field `channels` is a layer's, not the mesh's.
COUNT = (r"(?:static_cast<[\w:]+>\(|\w+\{)?(?:\w+(?:\(\))?(?:\.|->))*(?:"
         r"(?:\w+_)?(?:parts|shares|positions|ranks)_?(?:\(\))?|channels\(\)|(?<![.>])\bchannels_?|"
         r"\bmesh_?\.(?:data|layer|channel))(?![\w.(]|->)")
# These may be multiplied by a number of ranks: the product is a number of stages or micro-batches.
PIECES = r"(?:\w+(?:\.|->))*(?:\w+_)?(?:chunks|micro_batches)\b"
RANK_DIVIDED = re.compile(rf"{RANK} [%/]=? |{RANK} \*=? {COUNT}")
COUNT_USED = re.compile("|".join((
    rf"(?:\b[A-Za-z_]\w*(?<!chunks)(?<!micro_batches)|(?<!chunks - 1)[)\]}}]) \*=? {COUNT}",
    rf"\b{COUNT}[)}}]* \*=? (?!{PIECES})", rf"(?<!micro_batches) [%/]=? {COUNT}")))
# Rooms in which parts, positions and channels belong to layers and kernels.
NO_RANKS = ("backends/", "ops/")
IMAGES = ("data/", "models/")  # the same for numbers of channels
DEVICES = re.compile(r"\bmesh_?\.data \* mesh_?\.layer \* mesh_?\.channel\b")


def calculates_with_ranks(code, file="train/trainer.cpp"):
    code = DEVICES.sub("devices", code)
    return bool(RANK_DIVIDED.search(code) or (not file.startswith(IMAGES) and COUNT_USED.search(code)))


def check_rank_arithmetic(rooms):
    """World ranks, parts and shares are numbers without arithmetic, except in RankMap."""
    yield from matching_lines(calculates_with_ranks, ("parallel/rank_map.h", "parallel/rank_map.cpp", "core/split.h", *NO_RANKS))


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


# For each check of lines: texts that it must refuse, and texts that it must accept.
JUDGED = [
    (compares_op_names,
     ['if (def.name == "relu") {', 'std::string_view(op->name) == "relu"', 'std::string(node.op->name) != kGelu',
      'return op->name == other;', 'if (other == op->name)', 'name_of(*node.op) == "conv2d"', '"conv2d" == name_of(*op)',
      'kSums.contains(op->name)', 'op->name.starts_with("batch")', 'std::string_view{def_->name} == "gru"',
      'launch.op == "conv2d"', 'if (op == "reorder")', 'if ("reorder" == op)', 'name == std::string_view("lstm")',
      'name == "lstm"sv', '"dropout" != kind', 'std::strcmp(name, "linear") == 0', 'kind.compare("linear") == 0',
      'node.op == find_op(name)', 'find_op("relu") == node.op', 'request.node.op->name.find("gradient") != npos'],
     ['if (node.op == &relu_op)', 'node.attributes.flag("relu")', 'split == "train"', 'entry.name == name',
      'o.loss == Loss::cross_entropy ? "cross_entropy" : "mean_squared_error"', 'optimizer->name == name',
      'case PlanStep::send: return "send";', 'draft_.add_launch(std::string(node.op->name), node.name)',
      'model.add_relu("relu", x)', 'fail_layer("linear", name, text("input has shape ", x))', 'find_op(word())',
      'def.name.size()', 'node.name == layer', 'const OpDef* op = find_op(name); op == nullptr']),
    (calculates_with_ranks,
     ['const int share = world_rank / n;', 'rank % parts()', 'part_of(rank) / 2', 'own_share %= 4',
      'const int last = (r + 1) * parts;', 'x * m.parts()', 'x * layout.ranks().parts() + part', 'ranks.parts() * share',
      'i * channels_ + channel', 'share * parts + part', 'n / m.positions()', 'index % ranks_.shares()',
      'r /= layout->ranks().channels()', 'static_cast<int>(rank) / 2', '(rank + 1) * ranks.shares()', 'ranks_[i] * parts',
      'x / mesh.channel', 'share * mesh.layer * mesh.channel', 'x * mesh_.layer', 'i % static_cast<size_t>(ranks.parts())', 'int64_t{part} * parts',
      '(is_forward ? i : chunks - 1 - i) * ranks + rank', 'mesh.channel * position', 'stages[i / data_ranks]',
      'position / 2', 'replica % 2 == 0'],
     ['map.rank_of(share, part)', 'stage_at(rank, i, ranks)', 'const int stages = ranks * chunks;',
      '2 * others + (chunks - 1) * ranks', 'micro_batches % ranks == 0', 'ranks.shares() * step.micro_batches',
      'ranks_.positions() * spec_.pipeline_chunks', 'x.channels * features', 'type.shape[1] / x.channels', 'rank + 1',
      'ranks - rank - 1', 'int64_t{ranks} * chunks', 'size_t{2} * action.stage', 'position_.epoch * steps', '2 * ranks',
      'for (int rank = 0; rank < m.parts(); ++rank)', 'const Rank* ranks', 'parts.size() / 2',
      '1.0 * mesh.data * mesh.layer * mesh.channel;']),
]


def check_judgements(rooms):
    for judges, refused, accepted in JUDGED:
        yield from (f"{judges.__name__} accepts: {text}" for text in refused if not judges(text))
        yield from (f"{judges.__name__} refuses: {text}" for text in accepted if judges(text))
    if calculates_with_ranks("sample * channels_ + c", "data/image_dataset.cpp"):
        yield "calculates_with_ranks refuses the channels of images"


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
    "the checks of lines refuse what they must refuse": check_judgements,
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
