"""Keeps comments, docs and messages in plain English: docs/decisions/plain-english.md has the rules and their reasons."""
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
COLUMNS = 100
LONGEST_SENTENCE = 30  # words; writers aim at 25
C_FILES = (".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".def", ".rs", ".go", ".cs")
# Texts that are not the project's own English.
# The comments of generated files are those of the headers.
NOT_READ = ("tests/golden/", "bindings/csharp/Troika/Generated/", "tests/english_test.py", "docs/decisions/plain-english.md")

COUNTED = (r"(?:one|once|twice|\d+|bytes|times|images|samples|steps|launches|threads|files|calls|words|"
           r"buckets|slots|streams|communicators|kernels)")
OWNER = (r"(?:rank|device|replica|stage|shard|share|group|layer|step|sample|bucket|channel|thread|process|parameter|"
         r"batch|epoch|node|op|plan|file|run|call|second|launch|class|image|model|trainer|host|core)")
# Each pattern, and what a writer says instead.
WORDS = [
    (r"\bbehind\b", "after"),
    (r"\bin front of\b", "before"),
    (r"\bbesides?\b", "concurrently with, next to, apart from"),
    (r"\b(?:lies?|lying|lain)\b", "is, is stored in"),
    (r"\bbut for\b", "except"),
    (r"\b(?:gives|gave|giving|give back|gives back)\b(?! up\b)", "returns, computes, passes"),
    (r"\b(?:tells?|telling)\b(?! returns\b)", "reports, says"),
    (r"\bhardly\b", "almost no, at most"),
    (rf"\b{COUNTED} an? {OWNER}\b", "per"),
    (r"(?<!\bplace )(?<!\bpoint )(?<!\bfrom )(?<!\bto )(?<!\bof )(?<!\band )(?<!\bshows )(?<!\bsays )"
     r"\bwhere\b(?! \w+ (?:is|are) (?:the|a|an)\b)(?!, |\?)", "if, when, in which"),
    (r"(?:^|(?<=[.;:!?] ))(?:What|Of)\b(?![^.]*\?)", "a subject at the beginning of the sentence"),
]
# The last two depend on case: a sentence may begin with "Where a value is stored".
PATTERNS = [(re.compile(pattern, 0 if i >= len(WORDS) - 2 else re.I), instead) for i, (pattern, instead) in enumerate(WORDS)]
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|<[^>]*>|\]\([^)]*\)|https?://\S+")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
TWO_FILES = re.compile(r"""'[\w./-]+\.(?:cpp|cu|cuh|c|h|py|def)'.*'[\w./-]+\.(?:cpp|cu|cuh|c|h|py|def)'""")
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)


def comments_of_c(text):
    """Blocks of comments, as (line, text): comments on lines that follow one another are one block."""
    block, first, last = [], 0, -1
    for match in C_TOKEN.finditer(text):
        token = match[0]
        if not token.startswith(("//", "/*")):
            continue
        line = text.count("\n", 0, match.start()) + 1
        is_alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        lines = [re.sub(r"^\s*(?:///?<?!?|/\*\*?<?|\*/|\*(?!/))\s?|\s*\*/\s*$", "", l) for l in token.split("\n")]
        if block and not (is_alone and token.startswith("//") and line == last + 1):
            yield first, block
            block = []
        if not block:
            first = line
        block += lines
        last = line + len(lines) - 1
    if block:
        yield first, block


def comments_of_hashes(text):
    """Blocks of comments of a script or of meson.build."""
    block, first = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#(?!!)\s?(.*)", line)
        if match:
            first = first if block else number
            block.append(match[1])
        elif block:
            yield first, block
            block = []
    if block:
        yield first, block


def docstrings_of_python(text):
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and before in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.NL):
            yield token.start[0], [l.strip() for l in token.string.strip("rf").strip('"').split("\n")]
        if token.type not in (tokenize.COMMENT, tokenize.ENCODING):
            before = token.type


def paragraphs_of_markdown(text):
    """Paragraphs and items of lists, without code, tables and headings."""
    block, first, is_code = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_text = not is_code and line.strip() and not line.lstrip().startswith(("#", "|", "```", "    "))
        is_item = bool(re.match(r"\s*(?:[-*]|\d+\.) ", line))
        if block and (not is_text or is_item):
            yield first, block
            block = []
        if is_text:
            first = first if block else number
            block.append(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line).strip())


def strings_of_c(text):
    """Messages and help texts: literals of several words, a run of adjacent ones joined."""
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', re.sub(r"//[^\n]*", "", text)):
        joined = "".join(part[1:-1] for part in STRING.findall(match[0]))
        if len(re.findall(r"[A-Za-z]{2,} ", joined)) >= 2:
            yield text.count("\n", 0, match.start()) + 1, [joined]


def texts_of(path, name):
    text = path.read_text(encoding="utf-8")
    if path.suffix in C_FILES:
        yield from comments_of_c(text)
        if name.startswith("src/"):
            yield from strings_of_c(text)
    elif path.suffix == ".md":
        yield from paragraphs_of_markdown(text)
    else:
        yield from comments_of_hashes(text)
        if path.suffix == ".py":
            yield from docstrings_of_python(text)


def sentences_of(lines):
    """Sentences with the number of their first line: an empty line, an item or a command of Doxygen begins a new one."""
    joined, at = [], []
    for offset, line in enumerate(lines):
        line = QUOTED.sub("Q", line.strip())
        begins = not line or re.match(r"(?:[-*]|\d+\.|@\w+|\(\d\)|\|)", line)
        if begins and joined:
            yield at[0], " ".join(joined)
            joined, at = [], []
        for part in re.split(r"(?<=[.;:!?])\s+", line):
            if not part:
                continue
            joined.append(part)
            at.append(offset)
            if re.search(r"[.;:!?]$", part):
                yield at[0], " ".join(joined)
                joined, at = [], []
    if joined:
        yield at[0], " ".join(joined)


def check_text(name, first, lines):
    for offset, line in enumerate(lines):
        plain = QUOTED.sub("Q", line)
        for pattern, instead in PATTERNS[:-1]:
            for match in pattern.finditer(plain):
                yield f'{name}:{first + offset}: "{match[0]}": say {instead}'
    pattern, instead = PATTERNS[-1]
    for offset, sentence in sentences_of(lines):
        if pattern.match(sentence):
            yield f'{name}:{first + offset}: "{" ".join(sentence.split()[:3])} ...": say {instead}'
        words = len(re.findall(r"[A-Za-z][\w'-]*", sentence))
        if words > LONGEST_SENTENCE:
            yield f'{name}:{first + offset}: a sentence of {words} words: "{" ".join(sentence.split()[:5])} ..."'


def check_lines(path, name):
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        is_code ^= path.suffix == ".md" and stripped.startswith("```")
        is_comment = (stripped.startswith(("//", "/*", "* ")) if path.suffix in C_FILES else
                      not is_code and not stripped.startswith(("|", "[")) if path.suffix == ".md" else
                      stripped.startswith("#"))
        if len(line) > COLUMNS and (is_comment or name.startswith("include/")) and "http" not in line:
            yield f"{name}:{number}: {len(line)} columns, at most {COLUMNS}"
        if path.name == "meson.build" and TWO_FILES.search(line):
            yield f"{name}:{number}: two files on a line"


def check_file(path, name):
    for first, lines in texts_of(path, name):
        yield from check_text(name, first, lines)
    yield from check_lines(path, name)


def files_to_read():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file()]
    for name in sorted(names):
        path = ROOT / name
        is_read = path.suffix in C_FILES + (".md", ".py", ".sh") or path.name in ("meson.build", "meson.options")
        if is_read and path.is_file() and not name.startswith(NOT_READ) and not name.startswith("build"):
            yield path, name


# A text for each pattern, which the lint must refuse, and texts that it must accept.
REFUSED = ["The sum comes behind it.", "It stands in front of the loss.", "It runs beside the launch.", "It lies in memory.",
           "All but for the last.", "It gives the sum.", "It tells the rank.", "It hardly costs.", "One a rank.",
           "Skipped where it is absent.", "What it returns. The sum.", "Of each rank the first.",
           " ".join(["word"] * (LONGEST_SENTENCE + 1))]
ACCEPTED = ["Returns the sum after the launch.", "The place where a value begins.", "It gives up.", "Sets `lies` and `beside`."]


def check_itself():
    """Yields texts that the lint judges wrongly."""
    for text in REFUSED:
        if not list(check_text("", 1, [text])):
            yield f"accepts: {text}"
    for text in ACCEPTED:
        if list(check_text("", 1, [text])):
            yield f"refuses: {text}"


def main():
    only = sys.argv[2:]
    errors = [error for path, name in files_to_read() if not only or name.startswith(tuple(only))
              for error in check_file(path, name)]
    kinds = {"lines are short": "columns, at most", "sentences are short": "a sentence of",
             "meson lists one file per line": "two files on a line"}
    found = {kind: [error for error in errors if mark in error] for kind, mark in kinds.items()}
    found["words are plain"] = [error for error in errors if not any(mark in error for mark in kinds.values())]
    found["the lint refuses each bad word"] = list(check_itself())
    for kind, problems in found.items():
        print("\n".join(f"not ok {kind} {problem}" for problem in problems) if problems else f"ok {kind}")
    return 1 if any(found.values()) else 0


sys.exit(main())
