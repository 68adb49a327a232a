#!/usr/bin/env python3
"""The reference implementation of safetensors and Troika read each other's files, byte for byte.

Usage: python_safetensors_test.py PATH_OF_SAFETENSORS_TOOL. Prints one line per test: `ok NAME` or
`not ok NAME`. Exits with 77, "skipped", without safetensors and numpy.
"""

import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}; pip install safetensors numpy")
    sys.exit(77)

TOOL = ""
METADATA = {"format": 'pt "quoted" \\ \t \u00e9'}
DTYPES = {"BOOL": "bool", "U8": "u1", "I8": "i1", "I16": "i2", "U16": "u2", "F16": "f2", "I32": "i4", "U32": "u4",
          "F32": "f4", "F64": "f8", "I64": "i8", "U64": "u8"}
SHAPES = [[], [0], [2, 3], [3, 0, 2]]


def tool(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=60)


def known_tensors():
    """Returns the tensors that safetensors_tool.cpp writes: byte i of each tensor is i modulo 2."""
    data = bytes(i % 2 for i in range(48))
    tensors = {}
    for name, dtype in DTYPES.items():
        for shape in SHAPES:
            count = int(numpy.prod(shape))
            tensors[f"{name} \u00e9 {shape}"] = numpy.frombuffer(data, "<" + dtype if dtype != "bool" else dtype,
                                                                 count).reshape(shape)
    return tensors


class PythonSafetensors(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.ours = os.path.join(directory.name, "ours.safetensors")
        self.theirs = os.path.join(directory.name, "theirs.safetensors")

    def test_python_reads_what_cpp_writes(self):
        self.assertEqual(tool("write", self.ours).stderr, "")
        tensors, expected = load_file(self.ours), known_tensors()
        self.assertEqual(tensors.keys(), expected.keys())
        for name, tensor in expected.items():
            self.assertEqual((tensors[name].dtype, tensors[name].shape), (tensor.dtype, tensor.shape), name)
            self.assertEqual(tensors[name].tobytes(), tensor.tobytes(), name)
        with safe_open(self.ours, "numpy") as file:
            self.assertEqual(file.metadata(), METADATA)

    def test_cpp_reads_what_python_writes(self):
        save_file(known_tensors(), self.theirs, METADATA)
        result = tool("check", self.theirs)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_both_write_the_same_bytes(self):
        save_file(known_tensors(), self.theirs, METADATA)
        tool("write", self.ours)
        with open(self.ours, "rb") as ours, open(self.theirs, "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())

    def test_python_reads_the_weights_of_a_model_file(self):
        self.assertEqual(tool("write_model", self.ours).stderr, "")
        tensors = load_file(self.ours)
        self.assertEqual({name: tensor.shape for name, tensor in tensors.items()},
                         {"conv1.weight": (20, 1, 3, 3), "conv1.bias": (20,), "conv2.weight": (50, 20, 5, 5),
                          "conv2.bias": (50,), "fc1.weight": (128, 800), "fc1.bias": (128,), "fc2.weight": (10, 128),
                          "fc2.bias": (10,)})
        with safe_open(self.ours, "numpy") as file:
            self.assertEqual(file.metadata()["format"], "pt")
            self.assertTrue(file.metadata()["troika.model"].startswith('model 1 "d2l_lenet" {\n'))

    def test_cpp_opens_a_model_file_that_python_wrote_again(self):
        tool("write_model", self.ours)
        with safe_open(self.ours, "numpy") as file:
            metadata = file.metadata()
        save_file(load_file(self.ours), self.theirs, metadata)
        result = tool("check_model", self.theirs)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        save_file(load_file(self.ours), self.theirs)
        self.assertIn("has weights alone", tool("check_model", self.theirs).stderr)

    def test_both_refuse_a_cut_and_a_longer_file(self):
        tool("write", self.ours)
        with open(self.ours, "rb") as file:
            whole = file.read()
        for damaged in (whole[:-1], whole + b"x", whole[:7], whole[:100], b""):
            with open(self.theirs, "wb") as file:
                file.write(damaged)
            with self.assertRaises(SafetensorError):
                load_file(self.theirs)
            self.assertEqual(tool("check", self.theirs).returncode, 1)


class Lines(unittest.TestResult):
    def addSuccess(self, test):
        print(f"ok {test._testMethodName}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        print(f"{self.failures[-1][1]}not ok {test._testMethodName}", flush=True)

    def addError(self, test, error):
        super().addError(test, error)
        print(f"{self.errors[-1][1]}not ok {test._testMethodName}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    TOOL = os.path.abspath(sys.argv[1])
    outcome = Lines()
    unittest.defaultTestLoader.loadTestsFromTestCase(PythonSafetensors).run(outcome)
    sys.exit(0 if outcome.wasSuccessful() else 1)
