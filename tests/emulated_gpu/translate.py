"""Translates a file of CUDA kernels to C++ for GPUs in software.

    translate.py FILE.cu OUTPUT.cpp DEPFILE SOURCE_FOLDER

Headers of device code (.cuh) become part of the output, except for those of instructions, which are
replaced. Launches become calls of emulated_gpu::launch, which copies its arguments at once, as a
launch does. Shared memory is poisoned when a block begins. Every kernel must first wait for those before it."""

import pathlib
import re
import sys

REPLACED = {"early_start.cuh": "early_start.h", "instructions.cuh": "hopper.h", "matrix_instructions.cuh": "matrix_instructions.h",
            "teams.cuh": "teams.h"}


def closing(text, at):
    """Returns the place of the parenthesis that closes the parenthesis at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError(f"no parenthesis closes {text[at:at + 60]!r}")


def split_at_commas(text):
    """Splits a text at the commas that are outside of parentheses, braces and template brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def kernel_before(text, at):
    """Returns the beginning of the name, maybe with template arguments, that ends before `at`."""
    i = len(text[:at].rstrip())
    if text[i - 1] == ">":
        depth = 0
        while True:
            i -= 1
            depth += {">": 1, "<": -1}.get(text[i], 0)
            if depth == 0:
                break
    while re.match(r"[\w:]", text[i - 1]):
        i -= 1
    return i


def translate_launches(text):
    while (at := text.find("<<<")) >= 0:
        begin = kernel_before(text, at)
        kernel = text[begin:at].strip()
        end = text.index(">>>", at)
        configuration = split_at_commas(text[at + 3:end])
        if len(configuration) != 4:
            raise ValueError(f"a launch of {kernel} has {len(configuration)} parts, need grid, block, bytes and stream")
        opening = text.index("(", end)
        last = closing(text, opening)
        grid, block, shared, stream = configuration
        body = f"[=](const auto&... values) {{ ({kernel})(values...); }}"
        call = (f'emulated_gpu::launch("{" ".join(kernel.split())}", dim3({grid}), dim3({block}), {shared}, {stream}, {body}, '
                f"{text[opening + 1:last]})")
        text = text[:begin] + call + text[last + 1:]
    return text


def require_waits(text):
    """Fails if a kernel does not first wait for the kernels before it (early_start.cuh)."""
    for kernel in re.finditer(r"__global__ ([^;{]*)\{\s*([^\n;]*)", text):
        if kernel.group(2) != "wait_for_kernels_before()":
            head = " ".join(kernel.group(1).split())
            raise ValueError(f"{head} begins with {kernel.group(2)!r}, need wait_for_kernels_before()")


def translate_shared(text):
    text = re.sub(r"extern __shared__ (?:__align__\(\d+\) )?([\w:]+) (\w+)\[\];",
                  r"\1* const \2 = static_cast<\1*>(emulated_gpu::dynamic_shared());", text)

    def poisoned(match):
        names = [re.match(r"\w+", part).group() for part in split_at_commas(match.group(2))]
        marks = "".join(f" static uint64_t block_of_{name} = 0; emulated_gpu::poison_once({name}, block_of_{name});"
                        for name in names)
        return match.group(0) + marks

    return re.sub(r"__shared__ ([\w:]+(?:<[^;>]*>)?) ([^;]+);", poisoned, text)


def with_headers(path, folder, read):
    """Returns the file's text, in which each header of device code replaces its first #include."""
    read.append(path)

    def header(match):
        inner = folder / match.group(1)
        if inner.name in REPLACED:
            return f'#include "{REPLACED[inner.name]}"'
        return "" if inner in read else with_headers(inner, folder, read)

    return re.sub(r'#include "([^"]+\.cuh)"', header, path.read_text().replace("#pragma once", ""))


def main():
    source, output, depfile, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
    read = []
    text = with_headers(source, folder, read)
    require_waits(text)
    text = translate_shared(translate_launches(text))
    output.write_text(f'#include "kernel.h"\n{text}')
    depfile.write_text(f"{output}: {' '.join(map(str, read))}\n")


if __name__ == "__main__":
    main()
