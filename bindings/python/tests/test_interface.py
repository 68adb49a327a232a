"""The generated declarations: layout, and completeness of the layer that is written by hand."""

import ast
import ctypes
import json
import pathlib
import re
import unittest

import troika
from troika import _interface

PACKAGE = pathlib.Path(troika.__file__).resolve().parent
DESCRIBED = json.loads((PACKAGE.parents[1] / "interface" / "interface.json").read_text(encoding="utf-8"))


class Interface(unittest.TestCase):
    def test_structs_have_the_layout_of_c(self):
        for struct in DESCRIBED["structs"]:
            kind = getattr(_interface, struct["name"])
            self.assertEqual(ctypes.sizeof(kind), struct["size"], struct["name"])
            for field in struct["fields"]:
                found = getattr(kind, field["name"])
                self.assertEqual((found.offset, found.size), (field["offset"], field["size"]), (struct["name"], field["name"]))

    def test_defaults_are_those_of_the_library(self):
        options = troika._call.default_of(_interface.troika_trainer_options)
        self.assertEqual(options.struct_size, ctypes.sizeof(options))
        self.assertEqual((options.deadline_ms, options.mesh.layer), (600000, 1))

    def test_every_function_is_used(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("*.py"))  # not those of _interface/
        used = set(re.findall(r"\blib(?:loaded)?\.(troika_\w+)", sources)) | set(re.findall(r"loaded\.(troika_\w+)", sources))
        # Options and results get their defaults by the name of their struct.
        unused = {function["name"] for function in DESCRIBED["functions"] if not function["name"].endswith("_init")} - used
        self.assertEqual(unused, set())

    def test_every_method_names_its_function_of_c(self):
        """The headers are the reference for shapes, ownership, errors and threads."""
        methods = 0
        for path in PACKAGE.glob("*.py"):
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)):
                if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                    continue
                for name in re.findall(r"\blib\.(troika_\w+)", ast.get_source_segment(source, node)):
                    self.assertIn(name, ast.get_docstring(node) or "", f"{path.name}: {node.name}")
                    methods += 1
        self.assertGreater(methods, 100)

    def test_every_function_has_types(self):
        self.assertEqual(set(_interface.FUNCTIONS), {function["name"] for function in DESCRIBED["functions"]})
        for name, (_, parameters) in _interface.FUNCTIONS.items():
            described = next(function for function in DESCRIBED["functions"] if function["name"] == name)
            self.assertEqual(len(parameters), len(described["parameters"]), name)

    def test_functions_of_the_library(self):
        self.assertEqual(troika.version()[0], 1)
        self.assertEqual(troika.__version__, ".".join(map(str, troika.version())))
        self.assertIn("oneDNN", troika.build_info())
        self.assertEqual(troika.status_name(troika.Status.BUSY), "TROIKA_ERROR_BUSY")
        self.assertIn("resnet18", troika.zoo_names())
