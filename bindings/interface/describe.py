#!/usr/bin/env python3
"""Describes the C interface as JSON, for whoever generates bindings: describe.py [--check] [--cc COMMAND]

Reads the public headers with Doxygen and asks a C compiler for every value, size and offset. Writes
bindings/interface/interface.json. With --check it writes nothing, and fails if the file differs.

The file has these lists. A type is written as in C.

- constants: macros with a number.
- enums: constants that belong together, with their values.
- handles: pointers to objects of the library.
- aliases: names of numbers, such as troika_status.
- callbacks: function pointers, with their parameters.
- structs: size, default (the macro ..._INIT) and fields with offset, size and number of elements.
- functions: parameters, errors that the function's own comment names, who owns an output, which
  threads may call, and whether the function is experimental.
"""

import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "bindings" / "interface" / "interface.json"
STATUSES = ("INVALID_ARGUMENT", "OUT_OF_MEMORY", "NOT_FOUND", "UNSUPPORTED", "BUSY", "IO", "CORRUPT", "NOT_INITIALIZED",
            "NOT_ON_DEVICE", "MISMATCH", "DEVICE_UNAVAILABLE", "COMM", "DETACHED", "INTERNAL", "CALLBACK")


def read_headers(folder):
    """Runs Doxygen over the headers, and returns the roots of its XML files by name."""
    settings = (ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8")
    settings += f"""
      INPUT = include/troika
      OUTPUT_DIRECTORY = {folder}
      GENERATE_HTML = NO
      GENERATE_XML = YES
      XML_PROGRAMLISTING = NO
      USE_MDFILE_AS_MAINPAGE =
      PREDEFINED += TROIKA_EXPERIMENTAL=experimental
    """
    subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, check=True, capture_output=True)
    return {path.stem: ElementTree.parse(path).getroot() for path in sorted((folder / "xml").glob("*.xml"))}


def text_of(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def paragraphs_in(element):
    """Yields the paragraphs of a description, without code. An item of a list begins with "- "."""
    for child in element if element is not None else ():
        if child.tag != "para":
            continue
        text = child.text or ""
        for part in child:
            if part.tag in ("itemizedlist", "programlisting", "verbatim"):
                yield text
                if part.tag == "itemizedlist":
                    yield from ("- " + text_of(item) for item in part)
                text = part.tail or ""
            else:
                text += "".join(part.itertext()) + (part.tail or "")
        yield text


def doc_of(element):
    brief = text_of(element.find("briefdescription"))
    paragraphs = [brief] if brief else []
    details = [" ".join(text.split()) for text in paragraphs_in(element.find("detaileddescription"))]
    details = [text for text in details if text]
    if paragraphs and details and not details[0].startswith("- "):
        paragraphs[0] += " " + details.pop(0)
    return "\n".join(paragraphs + details)


def type_of(element):
    return re.sub(r"\s*\*", " *", text_of(element)).replace("* *", "**")


def split_parameters(text):
    """Splits "(const char *line, void *user)" into types and names."""
    parameters = []
    for part in text.strip("()").split(","):
        kind, name = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*", part).groups()
        parameters.append({"name": name, "type": kind})
    return parameters


def errors_in(doc, docs, group_doc):
    """Returns the statuses that a comment names after "Errors", also those of another function."""
    found = set()
    for text in re.findall(r"(?:^|\s|, )[Ee]rrors?\b(.*?)(?=\n(?!- )|$)", doc, flags=re.S):
        found |= set(re.findall(rf"\b({'|'.join(STATUSES)})\b", text))
        for other in re.findall(r"\b(?:those of|as) (troika_\w+)", text):
            found |= errors_in(docs[other], docs, group_doc)
        if "those of all layers" in text or "Errors of all of them" in group_doc:
            found |= errors_in(group_doc.replace("Errors of all of them", "Errors"), docs, "")
    return found


def sentences_with(doc, *words):
    sentences = re.split(r"(?<=[.;])\s+", doc.replace("\n", " "))
    return " ".join(sentence for sentence in sentences if any(re.search(rf"\b{word}", sentence) for word in words))


def describe_function(member, header, docs, group_doc):
    name = text_of(member.find("name"))
    doc = docs[name]
    parameters = []
    for parameter in member.findall("param"):
        kind = type_of(parameter.find("type"))
        if kind == "void":
            continue
        argument = text_of(parameter.find("declname"))
        is_output = argument.startswith("out_") or argument in ("error", "buffer")
        parameters.append({"name": argument, "type": kind, "is_output": is_output})
    returns = type_of(member.find("type"))
    threads = sentences_with(doc, "[Tt]hread", "[Tt]hreads") or sentences_with(group_doc, "[Tt]hread")
    return {
        "name": name,
        "header": header,
        "returns": returns.replace("experimental ", ""),
        "parameters": parameters,
        "errors": sorted(errors_in(doc, docs, group_doc)),
        "owned": sentences_with(doc, "Owned"),
        "borrowed": sentences_with(doc, "Borrowed", "borrowed"),
        "threads": threads,
        "is_experimental": returns.startswith("experimental "),
        "doc": doc,
    }


def describe_members(file, docs, described):
    """Adds what one header declares to `described`. `docs` has the comments of all functions."""
    compound = file.find("compounddef")
    header = compound.find("compoundname").text
    for section in compound.findall("sectiondef"):
        group_doc = "\n".join(paragraphs_in(section.find("description")))
        for member in section.findall("memberdef"):
            name, kind = text_of(member.find("name")), member.get("kind")
            entry = {"name": name, "header": header, "doc": doc_of(member)}
            if kind == "function":
                described["functions"].append(describe_function(member, header, docs, group_doc))
            elif kind == "enum":
                values = [{"name": text_of(value.find("name")), "doc": doc_of(value)} for value in member.findall("enumvalue")]
                described["enums"].append({"header": header, "doc": entry["doc"], "values": values})
            elif kind == "typedef":
                described_type = type_of(member.find("type"))
                arguments = text_of(member.find("argsstring"))
                if "(" in described_type:
                    entry["returns"] = described_type.split("(")[0].strip()
                    entry["parameters"] = split_parameters(arguments.removeprefix(")"))
                    described["callbacks"].append(entry)
                elif described_type.endswith("_s *"):
                    described["handles"].append(entry)
                elif not described_type.startswith("struct "):
                    described["aliases"].append({**entry, "type": described_type})
            elif kind == "define" and member.find("param") is None:
                value = text_of(member.find("initializer"))
                if re.fullmatch(r"-?\d+|INT32_MIN|\(TROIKA_VERSION_MAJOR .*\)", value):
                    described["constants"].append(entry)


def describe_structs(files, described):
    defaults = {text_of(member.find("name")) for file in files.values() for member in file.iter("memberdef")
                if member.get("kind") == "define"}
    for stem, file in files.items():
        if not stem.startswith("struct"):
            continue
        compound = file.find("compounddef")
        name = compound.find("compoundname").text
        fields = []
        for member in compound.iter("memberdef"):
            fields.append({"name": text_of(member.find("name")), "type": type_of(member.find("type")),
                           "array": text_of(member.find("argsstring")), "doc": doc_of(member)})
        described["structs"].append({
            "name": name,
            "header": pathlib.Path(compound.find("location").get("file")).name,
            "default": f"{name.upper()}_INIT" if f"{name.upper()}_INIT" in defaults else None,
            "fields": fields,
            "doc": doc_of(compound),
        })


def ask_compiler(described, compiler, emulator, folder):
    """Adds values, sizes and offsets, as a program prints them."""
    values = [value for enum in described["enums"] for value in enum["values"]] + described["constants"]
    questions = [f"(long long){value['name']}" for value in values]
    for struct in described["structs"]:
        questions.append(f"(long long)sizeof({struct['name']})")
        for field in struct["fields"]:
            member = f"(({struct['name']} *)0)->{field['name']}"
            questions += [f"(long long)offsetof({struct['name']}, {field['name']})", f"(long long)sizeof({member})",
                          f"(long long)(sizeof({member}){'/ sizeof(' + member + '[0])' if field['array'] else '* 0 + 1'})"]
    lines = "".join(f'  printf("%lld\\n", {question});\n' for question in questions)
    source = folder / "layout.c"
    source.write_text(f"#include <stdio.h>\n#include <troika/troika.h>\nint main(void) {{\n{lines}  return 0;\n}}\n",
                      encoding="utf-8")
    subprocess.run([*compiler, f"-I{ROOT / 'include'}", str(source), "-o", str(folder / "layout")], check=True)
    answers = iter(subprocess.run([*emulator, str(folder / "layout")], check=True, capture_output=True, text=True).stdout.split())
    for value in values:
        value["value"] = int(next(answers))
    for struct in described["structs"]:
        struct["size"] = int(next(answers))
        for field in struct["fields"]:
            field["offset"], field["size"], count = int(next(answers)), int(next(answers)), int(next(answers))
            if field.pop("array"):
                field["count"] = count


def describe(compiler, emulator):
    described = {name: [] for name in ("constants", "enums", "handles", "aliases", "callbacks", "structs", "functions")}
    with tempfile.TemporaryDirectory(prefix="troika-interface-") as temporary:
        folder = pathlib.Path(temporary)
        files = read_headers(folder)
        headers = [file for stem, file in files.items() if stem.endswith("_8h")]
        docs = {text_of(member.find("name")): doc_of(member) for file in headers for member in file.iter("memberdef")
                if member.get("kind") == "function"}
        for file in headers:
            describe_members(file, docs, described)
        describe_structs(files, described)
        ask_compiler(described, compiler, emulator, folder)
    version = {value["name"]: value["value"] for value in described["constants"]}
    return {"version": ".".join(str(version[f"TROIKA_VERSION_{part}"]) for part in ("MAJOR", "MINOR", "PATCH")), **described}


def main():
    parser = argparse.ArgumentParser(description="Describes the C interface as JSON.")
    parser.add_argument("--check", action="store_true", help="compare with the file, and write nothing")
    parser.add_argument("--cc", default="cc", help="C compiler (cc)")
    parser.add_argument("--emulator", default="", help="runs programs of the compiler, if it is another processor's")
    arguments = parser.parse_args()
    text = json.dumps(describe(shlex.split(arguments.cc), shlex.split(arguments.emulator)), indent=1, ensure_ascii=False) + "\n"
    if not arguments.check:
        OUTPUT.write_text(text, encoding="utf-8")
    elif not OUTPUT.exists() or OUTPUT.read_text(encoding="utf-8") != text:
        sys.exit(f"{OUTPUT.relative_to(ROOT)} is not what the headers say; run bindings/interface/describe.py")


if __name__ == "__main__":
    main()
