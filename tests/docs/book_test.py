#!/usr/bin/env python3
"""Builds the book, and looks at it as a reader does: book_test.py [NAME...]

Links, anchors, contents and the search. If Chromium is installed: every page in narrow and wide
windows and in both colour schemes. Prints one line per test.
"""

import functools
import html.parser
import os
import pathlib
import re
import shutil
import sys
import tempfile
import urllib.parse

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "bindings"), str(TESTS.parent / "docs")]
# pylint: disable=wrong-import-position
import book_filter
import browser
from languages import SOURCE_ROOT
from scripts import Skipped, main, need, run

# Doxygen's own lists of names: each is a page per letter, and all look alike.
LISTS = re.compile(r"(functions|globals)(_\w+)?\.html")
WIDTHS = (360, 800, 1600)


@functools.cache
def book():
    """The folder of the book's pages, and the warnings of Doxygen."""
    need("doxygen")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troika-book-"))
    settings = (SOURCE_ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {folder}\n"
    (folder / "Doxyfile").write_text(settings, encoding="utf-8")
    warnings = run("sh", "-c", 'doxygen "$1" || true', "sh", folder / "Doxyfile", cwd=SOURCE_ROOT)
    return folder / "html", warnings


class Page(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links += [values[name] for name in ("href", "src", "data") if values.get(name)]


@functools.cache
def pages():
    return {file.name: Page(file) for file in sorted(book()[0].glob("*.html"))}


def test_doxygen_warns_of_nothing(_):
    assert book()[1] == "", book()[1]


def test_every_page_is_in_the_book(_):
    missing = [page for page in book_filter.pages() if f"{book_filter.name_of(page)}.html" not in pages()]
    assert not missing, missing


def test_every_page_is_reached_from_the_start(_):
    """By links of the text: the tree is made of these too."""
    found, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in found or name not in pages():
            continue
        found.add(name)
        waiting += [urllib.parse.urldefrag(link)[0] for link in pages()[name].links]
    lost = [name for page in book_filter.pages() if (name := f"{book_filter.name_of(page)}.html") not in found]
    assert not lost, lost
    headers = {file.stem.replace("_", "__") + "_8h.html" for file in (SOURCE_ROOT / "include" / "troika").glob("*.h")}
    assert headers <= found, headers - found


def test_the_start_page_lists_every_page(_):
    """Once, in one of its lists, which are the parts of the book."""
    text = (SOURCE_ROOT / book_filter.START).read_text(encoding="utf-8")
    listed = [book_filter.resolve(book_filter.START, target)[0] for _, _, entries in book_filter.parts_of(text)
              for _, target in entries]
    listed = sorted(page for page in listed if page in book_filter.pages())
    wanted = sorted(set(book_filter.pages()) - {book_filter.START})
    assert listed == wanted, f"listed {listed}, the pages are {wanted}"


def test_no_link_is_dead(_):
    dead = []
    for name, page in pages().items():
        for link in page.links:
            if re.match(r"(https?|javascript|data|mailto):", link):
                continue
            file, anchor = urllib.parse.urldefrag(urllib.parse.unquote(link))
            target = name if file == "" else file.partition("?")[0]
            if not (book()[0] / target).exists():
                dead.append(f"{name}: {link}")
            elif anchor and target in pages() and anchor not in pages()[target].anchors:
                dead.append(f"{name}: {link}")
    assert not dead, f"{len(dead)} dead links: {dead[:10]}"


def test_no_link_of_the_source_is_dead(_):
    """Links of the pages as they are in the source: files and headings."""
    dead = []
    for page in book_filter.pages():
        text = (SOURCE_ROOT / page).read_text(encoding="utf-8")
        outside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
        for match in book_filter.CODE_OR_LINK.finditer(outside):
            target = match["target"]
            if not target or re.match(r"\w+:", target):
                continue
            file, anchor = book_filter.resolve(page, target)
            if not (SOURCE_ROOT / file).exists():
                dead.append(f"{page}: {target}")
            elif anchor and anchor not in book_filter.anchors_in((SOURCE_ROOT / file).read_text(encoding="utf-8")):
                dead.append(f"{page}: {target}")
    assert not dead, dead


def test_no_markdown_is_left(_):
    """Doxygen shows the Markdown that it does not understand."""
    bad = []
    for page in book_filter.pages():
        file = book()[0] / f"{book_filter.name_of(page)}.html"
        text = file.read_text(encoding="utf-8")
        body = re.sub(r"<(script|pre|code)\b.*?</\1>|<div class=\"fragment\">.*?</div><!-- fragment -->", "", text, flags=re.S)
        body = re.sub(r"<[^>]*>", "", body)
        found = re.search(r"\]\(|@ref|@subpage|&lt;(strong|tt|em|code)&gt;|```|\*\*", body)
        if found:
            bad.append(f"{page}: {body[max(0, found.start() - 60):found.end() + 20]!r}")
    assert not bad, bad


def test_search_has_its_texts(_):
    folder = book()[0]
    names = (folder / "search" / "searchdata.js").read_text(encoding="utf-8")
    assert "indexSectionsWithContent" in names
    text = (folder / "book-search.html").read_text(encoding="utf-8")
    for page in set(book_filter.pages()) - {book_filter.START}:
        assert f'data-url="{book_filter.name_of(page)}.html' in text, f"the search has no text of {page}"


@functools.cache
def window():
    program = browser.find()
    if not program:
        raise Skipped("there is no chromium")
    return browser.Browser(program)


def url(page):
    return (book()[0] / page).as_uri()


def test_no_page_is_wider_than_its_window(_):
    shown, wide = window(), []
    for name in pages():
        if LISTS.fullmatch(name):
            continue
        shown.set_window(WIDTHS[-1], "light")
        shown.open(url(name))
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                shown.set_window(width, scheme)
                over = shown.evaluate("""(function () {
                    const content = document.getElementById('doc-content');
                    return [document.documentElement.scrollWidth - window.innerWidth,
                            content ? content.scrollWidth - content.clientWidth : 0].join();
                })()""")
                if any(int(pixels) > 0 for pixels in over.split(",")):
                    wide.append(f"{name} at {width} px, {scheme}: {over}")
    assert not wide, f"{len(wide)} cases: {wide[:6]}"


def test_pages_have_both_colour_schemes(_):
    """Text is readable on its background, in tables, code and the menu too."""
    shown = window()
    shown.set_window(1200, "light")
    shown.open(url("book-data.html"))
    shown.wait_for("document.querySelector('#nav-tree a') !== null")
    contrast = """(function () {
        function brightness(color) {
          const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(function (c) {
            c /= 255;
            return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        }
        function background(element) {
          for (; element; element = element.parentElement) {
            const color = getComputedStyle(element).backgroundColor;
            if (!/, 0\\)$|transparent/.test(color)) return color;
          }
          return 'rgb(255, 255, 255)';
        }
        let least = 100, where = '';
        for (const selector of ['.contents p', '.contents a', 'td', 'th', 'code', 'div.line', 'span.comment',
                                '#main-menu a', '#nav-tree a', '.title', '#projectbrief', '.navelem a']) {
          const element = document.querySelector(selector);
          const a = brightness(getComputedStyle(element).color), b = brightness(background(element));
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < least) { least = ratio; where = selector; }
        }
        return [least.toFixed(2), where, brightness(background(document.querySelector('.contents p'))).toFixed(2)].join();
    })()"""
    pages_brightness = []
    for scheme in ("light", "dark"):
        shown.set_window(1200, scheme)
        least, where, page = shown.evaluate(contrast).split(",")
        assert float(least) >= 4.5, f"{scheme}: {where} has a contrast of {least}"
        pages_brightness.append(float(page))
    assert pages_brightness[0] > 0.8 and pages_brightness[1] < 0.1, pages_brightness


def test_search_finds_pages_and_functions(_):
    shown = window()
    shown.set_window(1200, "light")
    shown.open(url("book-data.html"))
    shown.wait_for("document.getElementById('MSearchField') !== null")
    # As a reader types into the box of the menu.
    shown.evaluate("document.getElementById('MSearchField').focus()")
    shown.call("Input.insertText", text="attach")
    for kind in ("keyDown", "keyUp"):
        shown.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    shown.wait_for("location.pathname.endsWith('book-search.html')")
    shown.wait_for("document.getElementById('book-status')?.dataset.ready === '1'")
    links = shown.evaluate("""Array.from(document.querySelectorAll('#book-results a')).map(function (link) {
        return link.textContent + ' ' + link.getAttribute('href');
    }).join('\\n')""")
    assert "troika_model_attach trainer_8h.html#" in links, links
    assert len(re.findall(r"book-[\w-]+\.html", links)) >= 5, links
    for link in links.splitlines():
        file, anchor = urllib.parse.urldefrag(link.rsplit(" ", 1)[1])
        assert file in pages() and (not anchor or anchor in pages()[file].anchors), link


try:
    os.chdir(SOURCE_ROOT)
    main(globals())
finally:
    if window.cache_info().currsize:
        window().close()
    if book.cache_info().currsize:
        shutil.rmtree(book()[0].parent)
