#!/usr/bin/env python3
"""Prepares a page for Doxygen, which calls this filter for each page: book_filter.py PAGE

Pages are plain Markdown, as a reader of the source sees it. The book needs more:
- Names of pages and headings, so that links to headings work: Doxygen before 1.10 has no such names.
- Links to files that are not in the book become their text and the name of the file.
- Pictures are named without their folder.
- The lists of docs/book.md become the parts of the book, in their order.
"""

import functools
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
START = "docs/book.md"
# Pages with at least so many headings begin with a table of contents.
LONG = 4
FENCE = re.compile(r"\s*(```|~~~)")
HEADING = re.compile(r"(#{1,4}) +(.*?) *$")
# A piece of code, which is left alone, or a link, or a picture.
CODE_OR_LINK = re.compile(r"(?P<code>`+)(?:.*?[^`])(?P=code)(?!`)|"
                          r"(?P<picture>!?)\[(?P<text>[^\]\[]*)\]\((?P<target>[^()\s]+)\)", re.S)


@functools.cache
def pages():
    """The files of all pages of the book, relative to the root."""
    found = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md"),
             *(ROOT / "docs" / "tutorials").glob("*.md"), ROOT / "bindings" / "README.md",
             *(ROOT / "bindings").glob("*/README.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def name_of(page):
    """The name of a page in the book, and of its file: docs/decisions/processes.md is book-decisions-processes."""
    if page == START:
        return "index"
    parts = pathlib.PurePosixPath(page).with_suffix("").parts
    parts = [part for part in parts if part not in ("docs", "README")] or ["readme"]
    return "book-" + "-".join(parts)


def anchor_of(heading):
    """The anchor of a heading, as hosts of Markdown make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors_in(text):
    """The anchors of all headings of a page, in their order. A second heading of the same words gets a number."""
    found, in_code = [], False
    for line in text.splitlines():
        in_code ^= bool(FENCE.match(line))
        match = None if in_code else HEADING.match(line)
        if match:
            anchor, number = anchor_of(match[2]), 0
            while anchor + (f"-{number}" if number else "") in found:
                number += 1
            found.append(anchor + (f"-{number}" if number else ""))
    return found


def resolve(page, target):
    """The file that a link of a page names, relative to the root, and the anchor."""
    file, _, anchor = target.partition("#")
    if not file:
        return page, anchor
    return os.path.normpath(os.path.join(os.path.dirname(page), file)), anchor


def link(page, text, target):
    """A link in the words of Doxygen, which takes no text of several lines."""
    text = " ".join(text.split())
    if re.match(r"\w+:", target):
        return f"[{text}]({target})"
    file, anchor = resolve(page, target)
    if file in pages():
        return f"[{text}](@ref {name_of(file)}{'-' + anchor if anchor else ''})"
    if re.fullmatch(r"include/troika/\w+\.h", file):
        return f"[{text}](@ref {file.removeprefix('include/')})"
    name = pathlib.PurePosixPath(file).name
    return text if name in text or "`" in text else f"{text} in `{file}`"


def picture(text, target):
    """A picture, which Doxygen finds by its name in the folders of IMAGE_PATH."""
    return f"![{' '.join(text.split())}]({pathlib.PurePosixPath(target).name})"


def with_links(page, text):
    """The text outside of code, with the links of the book."""
    def replace(match):
        if match["code"]:
            return match[0]
        return picture(match["text"], match["target"]) if match["picture"] else link(page, match["text"], match["target"])
    return CODE_OR_LINK.sub(replace, text)


def is_long(text):
    outside = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return len(re.findall(r"^##+ ", outside, flags=re.M)) >= LONG


def heading_of(page, level, words, anchor):
    """A heading with its name. Headings of the start page are no sections: the tree has the parts in their place."""
    text = with_links(page, words.replace("`", "")) + ("&nbsp;" if words.endswith("#") else "")  # C# keeps its sign
    if page == START:
        return f"# {text}" if level == 1 else f"<h{level - 1}>{text}</h{level - 1}>"
    return f"{'#' * level} {text} {{#{name_of(page)}{'' if level == 1 else '-' + anchor}}}"


def filtered(page, text):
    """A page for Doxygen."""
    anchors = iter(anchors_in(text))
    out, plain, in_code = [], [], False

    def end_plain():
        if plain:
            out.append(with_links(page, "\n".join(plain)))
            plain.clear()

    for line in text.splitlines():
        is_fence = bool(FENCE.match(line))
        match = None if in_code or is_fence else HEADING.match(line)
        if match:
            end_plain()
            out.append(heading_of(page, len(match[1]), match[2], next(anchors)))
            if match[1] == "#" and is_long(text) and page != START:
                out.append("\n[TOC]")
        elif in_code or is_fence:
            end_plain()
            out.append(line)
        else:
            plain.append(line)
        in_code ^= is_fence
    end_plain()
    return "\n".join(out) + "\n"


def parts_of(text):
    """The parts of the book: heading, anchor, and the pages of its list as (text, target)."""
    found = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        heading = section.splitlines()[0].strip()
        entries = re.findall(r"^- \[([^\]]*)\]\(([^)\s]*)\)", section, flags=re.M)
        found.append((heading, anchor_of(heading), entries))
    return found


def plain_text(text):
    """The words of Markdown. Code keeps its asterisks."""
    code = []

    def keep(match):
        code.append(match[1] or match[2])
        return f"\0{len(code) - 1}\0"

    text = re.sub(r"^\s*```[^\n]*\n(.*?)^\s*```|`([^`\n]+)`", keep, text, flags=re.M | re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"\|[ \-|]*\n|[`|*]", " ", text)
    return " ".join(re.sub("\0(\\d+)\0", lambda match: code[int(match[1])], text).split())


def sections_of(page, text):
    """Yields heading, link and text of each section; the first has the words below the title."""
    heading, name, lines, in_code = "", name_of(page) + ".html", [], False
    anchors = iter(anchors_in(text))
    for line in text.splitlines():
        match = None if in_code else HEADING.match(line)
        in_code ^= bool(FENCE.match(line))
        if match:
            yield heading, name, plain_text("\n".join(lines))
            anchor, lines = next(anchors), []
            is_title = match[1] == "#"
            heading = "" if is_title else plain_text(match[2])
            name = f"{name_of(page)}.html" + ("" if is_title else f"#{name_of(page)}-{anchor}")
        else:
            lines.append(line)
    yield heading, name, plain_text("\n".join(lines))


def raw(text):
    """A text in HTML which neither Doxygen nor the browser takes for a command."""
    return re.sub(r"[^\w .,:;()/+=-]", lambda m: f"&#{ord(m[0])};", text)


def search_page():
    """The page of the search, with the text of all pages, in which docs/book.js searches."""
    out = ["@page book-search Search", "", "@htmlonly",
           '<input id="book-query" type="search" placeholder="Words" aria-label="Words" autocomplete="off"/>',
           '<p id="book-status" role="status"></p><ul id="book-results"></ul><div id="book-texts">']
    for page in pages():
        if page == START:
            continue
        text = (ROOT / page).read_text(encoding="utf-8")
        title = re.search(r"^# (.*)", text, flags=re.M)[1]
        for heading, url, words in sections_of(page, text):
            if words:
                out.append(f'<div data-url="{url}" data-page="{raw(title)}" data-heading="{raw(heading)}">{raw(words)}</div>')
    return "\n".join([*out, "</div>", "@endhtmlonly", ""])


def start_page(text):
    """The start page with its lists, and a page for each part, so that the tree of pages has these parts."""
    parts = [(heading, f"book-part-{anchor}", entries) for heading, anchor, entries in parts_of(text) if entries]
    row = " · ".join(f'@subpage {name} "{heading}"' for heading, name, _ in [*parts, ("Search", "book-search", [])])
    intro, rest = filtered(START, text).split("\n<h1>", 1)
    out = f"{intro}\n<div class=\"parts\">{row}</div>\n\n<h1>{rest}"
    for heading, name, entries in parts:
        out += f"\n@page {name} {heading}\n\n"
        for words, target in entries:
            file = resolve(START, target)[0]
            out += f'- @subpage {name_of(file)} "{words}"\n' if file in pages() else f"- {link(START, words, target)}\n"
    return out + "\n" + search_page()


def main():
    file = pathlib.Path(sys.argv[1]).resolve()
    page = file.relative_to(ROOT).as_posix()
    text = file.read_text(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(start_page(text) if page == START else filtered(page, text))


if __name__ == "__main__":
    main()
