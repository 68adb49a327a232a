#!/usr/bin/env python3
"""Predictions from several threads on one model: Troika and ONNX Runtime in turn, on the same weights.

    serving_bench.py [--models mlp,d2l_lenet,resnet18] [--batches 1,8] [--callers 1,2,4,8] [--rounds 3] [--seconds 2]

Both are called from Python threads in one process, which leave Python while they compute. It needs numpy, onnx and
onnxruntime, and build/tests/serving_bench for Troika called from C.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    types = {"F32": numpy.float32, "I64": numpy.int64}
    return {name: numpy.frombuffer(data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]],
                                   types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def is_large(model):
    """Whether the model is for ImageNet."""
    return model in ("resnet18", "resnet34", "resnet50")


class Onnx:
    """The ONNX graph of a model, layer by layer."""

    def __init__(self, weights):
        self.weights, self.nodes, self.used = weights, [], {}

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def value(self, name):
        self.used[name] = self.weights[name]
        return name

    def conv(self, layer, x, stride=1, padding=0):
        inputs = [x, self.value(layer + ".weight")] + ([self.value(layer + ".bias")] if layer + ".bias" in self.weights else [])
        return self.add("Conv", inputs, strides=[stride] * 2, pads=[padding] * 4)

    def batch_norm(self, layer, x):
        names = [self.value(f"{layer}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        return self.add("BatchNormalization", [x] + names, epsilon=1e-5)

    def linear(self, layer, x):
        return self.add("Gemm", [x, self.value(layer + ".weight"), self.value(layer + ".bias")], transB=1)

    def pool(self, kind, x, kernel, stride, padding=0):
        return self.add(kind, [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4)

    def relu(self, x):
        return self.add("Relu", [x])

    def block(self, name, x, stride):
        y = self.relu(self.batch_norm(name + ".bn1", self.conv(name + ".conv1", x, stride, 1)))
        y = self.batch_norm(name + ".bn2", self.conv(name + ".conv2", y, 1, 1))
        if name + ".downsample.0.weight" in self.weights:
            x = self.batch_norm(name + ".downsample.1", self.conv(name + ".downsample.0", x, stride))
        return self.relu(self.add("Add", [y, x]))

    def build(self, model):
        x = "x"
        if model == "mlp":
            x = self.linear("fc2", self.relu(self.linear("fc1", self.add("Flatten", [x]))))
        elif model == "d2l_lenet":
            for number in (1, 2):
                x = self.pool("AveragePool", self.relu(self.conv(f"conv{number}", x)), 2, 2)
            x = self.linear("fc2", self.relu(self.linear("fc1", self.add("Flatten", [x]))))
        else:
            x = self.pool("MaxPool", self.relu(self.batch_norm("bn1", self.conv("conv1", x, 2, 3))), 3, 2, 1)
            for stage in range(1, 5):
                for i in range(2):
                    x = self.block(f"layer{stage}.{i}", x, 2 if stage > 1 and i == 0 else 1)
            x = self.linear("fc", self.add("Flatten", [self.add("GlobalAveragePool", [x])]))
        shape = [3, 224, 224] if is_large(model) else [1, 28, 28]
        graph = helper.make_graph(
            self.nodes, model, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"] + shape)],
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["n", 1000 if is_large(model) else 10])],
            [numpy_helper.from_array(value, name) for name, value in self.used.items()])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        made.ir_version = 8
        onnx.checker.check_model(made)
        return made.SerializeToString(), shape


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class Troika:
    def __init__(self, model, weights_file):
        self.library = ctypes.CDLL(str(ROOT / "build/libtroika.so.1"))
        self.error = ctypes.create_string_buffer(4096)
        self.context, self.model = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.troika_context_create(None, ctypes.byref(self.context), self.error))
        self.check(self.library.troika_model_create(self.context, model.encode(), None, ctypes.byref(self.model), self.error))
        self.check(self.library.troika_model_load(self.model, str(weights_file).encode(), None, None, self.error))
        self.outputs = 1000 if is_large(model) else 10

    def check(self, status):
        if status < 0:
            raise RuntimeError(self.error.raw[4:].split(b"\0")[0].decode())

    def caller(self, x):
        y = numpy.empty((len(x), self.outputs), numpy.float32)
        arguments = (self.model, Device(1, 0), ctypes.c_void_p(x.ctypes.data), ctypes.c_int64(len(x)), None,
                     ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(y.nbytes), None)

        def call():
            if self.library.troika_model_predict_into(*arguments) < 0:
                raise RuntimeError("troika_model_predict_into failed")
            return y
        return call


class OnnxRuntime:
    def __init__(self, content):
        self.session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])

    def caller(self, x):
        feed = {"x": x}
        return lambda: self.session.run(None, feed)[0]


def measure(side, callers, x, seconds):
    """Returns samples per second, and the median and 99th percentile of a call in ms."""
    times = [[] for _ in range(callers)]
    end = [float("inf")]
    ready = threading.Barrier(callers + 1)

    def work(own):
        call = side.caller(x)
        call()
        ready.wait()
        while True:
            began = time.perf_counter()
            if began >= end[0]:
                return
            call()
            own.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work, args=(own,)) for own in times]
    for thread in threads:
        thread.start()
    ready.wait()
    began = time.perf_counter()
    end[0] = began + seconds
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    taken = sorted(t for own in times for t in own)
    return len(taken) * len(x) / took, taken[len(taken) // 2] * 1e3, taken[len(taken) * 99 // 100] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="mlp,d2l_lenet,resnet18")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--callers", default="1,2,4,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    arguments = parser.parse_args()
    print(f"ONNX Runtime {onnxruntime.__version__}; medians of {arguments.rounds} rounds in turn: "
          "samples/s, p50 ms, p99 ms", flush=True)
    for model in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            weights_file = pathlib.Path(folder) / "weights.safetensors"
            program = str(ROOT / "build/tests/serving_bench")
            subprocess.run([program, model, "1", "1", "0.1", "0", str(weights_file)], check=True, stdout=subprocess.DEVNULL)
            content, shape = Onnx(read_safetensors(weights_file)).build(model)
            sides = {"Troika": Troika(model, weights_file), "ONNX Runtime": OnnxRuntime(content)}
        for batch in map(int, arguments.batches.split(",")):
            x = numpy.random.default_rng(batch).standard_normal([batch] + shape).astype(numpy.float32)
            y = [side.caller(x)() for side in sides.values()]
            worst = numpy.abs(y[0] - y[1]).max() / numpy.abs(y[1]).max()
            assert worst < 1e-4, f"{model}: results differ by {worst}"
            for callers in map(int, arguments.callers.split(",")):
                found = {name: [] for name in [*sides, "Troika from C"]}
                for _ in range(arguments.rounds):
                    for name, side in sides.items():
                        found[name].append(measure(side, callers, x, arguments.seconds))
                    text = subprocess.run([program, model, str(batch), str(callers), str(arguments.seconds)], check=True,
                                          capture_output=True, text=True).stdout.split()
                    found["Troika from C"].append((float(text[0]), float(text[3]), float(text[6])))
                print(f"{model} batch {batch} callers {callers}: " + "; ".join(
                    name + " " + ", ".join(f"{statistics.median(column):.4g}" for column in zip(*rounds))
                    for name, rounds in found.items()), flush=True)


if __name__ == "__main__":
    main()
