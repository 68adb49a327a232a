#!/usr/bin/env python3
"""Compiles and runs the programs of docs/tutorials: tutorials_test.py

PyTorch runs the tutorials' own code on the same numbers. Prints one line per test: `ok NAME`,
`skip NAME reason` or `not ok NAME reason`.
"""

import ctypes
import gzip
import json
import math
import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("bindings", "support")]
# pylint: disable=wrong-import-position
from languages import BUILD, FASHION_MNIST, SOURCE_ROOT, linked
from scripts import Skipped, main, run

DEBIAN_PYTHON = "/usr/bin/python3"  # has Debian's python3-torch
TUTORIALS = SOURCE_ROOT / "docs" / "tutorials"
STEPS, BATCH, RATE = 12, 100, 0.2
# How far a loss may be off: rounding in f32, which each step carries on.
TOLERANCE = 2e-5


def program(name, folder):
    """Compiles a tutorial's program with warnings as errors."""
    run("cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE_ROOT / 'include'}", TUTORIALS / f"{name}.c",
        f"-L{BUILD}", "-ltroika", "-o", folder / name)
    return folder / name


def losses_of(text):
    return [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)$", text, flags=re.M)]


def run_lenet(folder, devices, steps):
    return losses_of(run(program("lenet_from_scratch", folder), devices, str(BATCH), str(RATE), "1", FASHION_MNIST, str(steps),
                         env=linked()))


def images_and_labels(count):
    """The first samples of the training files, as the loader prepares them."""
    import torch  # pylint: disable=import-outside-toplevel
    pixels = gzip.open(FASHION_MNIST / "train-images-idx3-ubyte.gz").read()[16:16 + 784 * count]
    labels = gzip.open(FASHION_MNIST / "train-labels-idx1-ubyte.gz").read()[8:8 + count]
    return (torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(count, 1, 28, 28).float() / 255,
            torch.frombuffer(bytearray(labels), dtype=torch.uint8).long())


def losses_of_pytorch(parameters):
    """The chapter's code: its forward function, the loss of each sample, and the update by d2l.sgd."""
    import torch  # pylint: disable=import-outside-toplevel
    from torch.nn import functional  # pylint: disable=import-outside-toplevel
    params = [p.clone().requires_grad_() for p in parameters]

    def lenet(x):
        h1 = functional.avg_pool2d(functional.relu(functional.conv2d(x, params[0], params[1])), 2, 2)
        h2 = functional.avg_pool2d(functional.relu(functional.conv2d(h1, params[2], params[3])), 2, 2)
        h3 = functional.relu(torch.mm(h2.reshape(h2.shape[0], -1), params[4]) + params[5])
        return torch.mm(h3, params[6]) + params[7]

    images, labels = images_and_labels(STEPS * BATCH)
    losses = []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        loss = functional.cross_entropy(lenet(images[part]), labels[part], reduction="none").sum()
        loss.backward()
        losses.append(loss.item() / BATCH)
        with torch.no_grad():
            for p in params:
                p -= RATE * p.grad / BATCH
                p.grad.zero_()
    return losses


def initial_parameters():
    """The program's parameters, drawn by the library."""
    import torch  # pylint: disable=import-outside-toplevel
    library, error = ctypes.CDLL(str(BUILD / "libtroika.so.1")), ctypes.create_string_buffer(4096)
    library.troika_tensor_normal.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32,
                                             ctypes.c_double, ctypes.c_double, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]
    library.troika_tensor_to_host.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    context = ctypes.c_void_p()
    assert library.troika_context_create(None, ctypes.byref(context), error) == 0
    parameters = []
    for i, shape in enumerate([(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (800, 128), (128,), (128, 10), (10,)]):
        tensor, dims = ctypes.c_void_p(), (ctypes.c_int64 * len(shape))(*shape)
        assert library.troika_tensor_normal(context, 1, 1, dims, len(shape), 0, 0.01 if i % 2 == 0 else 0, i,
                                            ctypes.byref(tensor), error) == 0  # device cpu:0, f32
        numbers = bytearray(4 * math.prod(shape))
        assert library.troika_tensor_to_host(tensor, (ctypes.c_char * len(numbers)).from_buffer(numbers), len(numbers), error) == 0
        parameters.append(torch.frombuffer(numbers, dtype=torch.float32).reshape(shape))
    return parameters


def test_lenet_learns_on_one_and_on_several_devices(folder):
    one = run_lenet(folder, "cpu:0", STEPS)
    assert len(one) == STEPS and abs(one[0] - 2.3026) < 0.01, one
    for devices in ("cpu:0,cpu:1", "cpu:0,cpu:1,cpu:2"):
        several = run_lenet(folder, devices, STEPS)
        assert len(several) == STEPS and all(abs(a - b) < TOLERANCE for a, b in zip(one, several)), (devices, one, several)


def test_lenet_has_the_losses_of_pytorch(folder):
    try:
        import torch  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError as error:
        if sys.executable == DEBIAN_PYTHON or not pathlib.Path(DEBIAN_PYTHON).exists():
            raise Skipped("there is no PyTorch") from error
        line = run(DEBIAN_PYTHON, __file__, "lenet_has_the_losses_of_pytorch").strip()
        if line.startswith("skip"):
            raise Skipped(line.split(" ", 2)[2]) from error
        return
    expected, found = losses_of_pytorch(initial_parameters()), run_lenet(folder, "cpu:0,cpu:1", STEPS)
    assert len(set(expected)) == STEPS
    assert all(abs(a - b) < TOLERANCE for a, b in zip(expected, found)), f"PyTorch {expected}, Troika {found}"


def test_lenet_says_what_it_needs(folder):
    lenet = program("lenet_from_scratch", folder)
    text = run(lenet, "cpu:0,cpu:900", "64", "0.1", "1", FASHION_MNIST, "1", env=linked(), expect=1)
    assert re.fullmatch(r"lenet_from_scratch: .*cpu:900.*\n", text), text


def tensors_of(path):
    """The bytes of each tensor of a safetensors file, by name."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header.pop("__metadata__", None)
    return {name: data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]] for name, entry in header.items()}


def write_pretrained(path):
    """A ResNet-50 of 1,000 classes with torchvision's names."""
    library, error = ctypes.CDLL(str(BUILD / "libtroika.so.1")), ctypes.create_string_buffer(4096)
    context, model = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.troika_context_create(None, ctypes.byref(context), error) == 0
    assert library.troika_model_create(context, b"resnet50", None, ctypes.byref(model), error) == 0
    assert library.troika_model_initialize_default(model, ctypes.c_uint64(3), error) == 0
    assert library.troika_model_save(model, str(path).encode(), error) == 0
    library.troika_model_destroy(model)
    library.troika_context_destroy(context)


def test_a_resnet50_of_1000_classes_learns_10(folder):
    pretrained, tuned, tune = folder / "resnet50.safetensors", folder / "tuned.safetensors", program("fine_tune_resnet50", folder)
    write_pretrained(pretrained)
    text = run(tune, pretrained, FASHION_MNIST, "cpu:0,cpu:1", "96", "4", tuned, env=linked())
    assert text.startswith("loaded 318 of the file's values\n"
                           "mismatching fc.weight: file F32 [1000, 2048], model F32 [10, 2048]\n"
                           "mismatching fc.bias: file F32 [1000], model F32 [10]\n"), text
    losses = [float(loss) for loss in re.findall(r"^epoch \d loss (\S+)", text, flags=re.M)]
    assert len(losses) == 4 and losses[3] < losses[0] - 0.1, text
    several, one = re.search(r"^2 devices: accuracy (\S+)\none device: accuracy (\S+)$", text, flags=re.M).groups()
    assert several == one, text

    before, after = tensors_of(pretrained), tensors_of(tuned)
    assert before.keys() == after.keys()
    changed = {name for name in after if after[name] != before[name]}
    running = {name for name in after if name.endswith(("running_mean", "running_var", "num_batches_tracked"))}
    assert changed - running == {"fc.weight", "fc.bias"}, sorted(changed - running)
    assert len(after["fc.weight"]) == 4 * 10 * 2048


if __name__ == "__main__":
    main(globals())
