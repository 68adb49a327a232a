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


def numbers(pattern, text):
    """All numbers that a pattern's first group has found."""
    return [float(found) for found in re.findall(pattern, text, flags=re.M)]


def near(several, one, tolerance):
    return len(several) == len(one) and all(abs(a - b) < tolerance for a, b in zip(several, one))


def test_devices_hold_tensors(folder):
    text = run(program("devices", folder), env=linked())
    cpus = re.match(r"(\d+) CPU devices, \d+ GPUs\ntry_gpu\(0\): c\w+:0\ntry_gpu\(10\): c\w+:\d+\ntry_all_gpus\(\): [1-9]", text)
    assert cpus and int(cpus[1]) >= 8, text
    assert "f32[2, 3] on cpu:0\n[[1., 1., 1.],\n [1., 1., 1.]]\n" in text, text
    assert "refused: troika_tensor_add: tensors are on cpu:0 and cpu:1, need one device;" in text, text
    assert all(1 <= number < 2 for number in numbers(r"(1\.\d{3,4})\b", text)), text
    assert text.endswith("f32[1, 2] on cpu:0\n[[3., 3.]]\nf32[1, 2] on cpu:1\n[[3., 3.]]\n"
                         "i32[2, 5] on cpu:0\n[[0, 1, 2, 3, 4],\n [5, 6, 7, 8, 9]]\n"
                         "i32[2, 5] on cpu:1\n[[10, 11, 12, 13, 14],\n [15, 16, 17, 18, 19]]\n"), text


def test_pieces_with_an_own_loss_are_whole_steps(folder):
    lenet = program("lenet_in_pieces", folder)
    for devices, batch in (("cpu:0", "100"), ("cpu:0,cpu:1", "100"), ("cpu:0,cpu:1,cpu:2", "97")):
        text = run(lenet, devices, batch, "0.05", "12", FASHION_MNIST, env=linked())
        pieces, whole = (numbers(rf"^step \d+: .*{word} (\d\.\d+)", text) for word in ("pieces", "whole step"))
        assert len(pieces) == 12 and near(pieces, whole, 1e-3), text
        assert whole[-1] < whole[0] - 0.02, text
        assert numbers(r"differs by at most (\S+)$", text)[0] < 1e-3, text


# Tests of ResNets take one batch per epoch, so the first loss is that of the initial values. One
# rounding may put an output on the other side of a ReLU, so later losses are only near.
def test_data_parallel_devices_compute_what_one_computes(folder):
    parallel, outputs = program("data_parallel", folder), []
    for devices in ("cpu:0", "cpu:0,cpu:1"):
        outputs.append(run(parallel, "d2l_resnet18", "28", devices, "32", "0.02", "2", FASHION_MNIST, "32", env=linked()))
        assert re.search(rf"^test acc: 0\.\d\d, \d+\.\d sec/epoch on {devices}$", outputs[-1], flags=re.M), outputs
    one, two = (numbers(r"^epoch \d: loss (\d\.\d+)", text) for text in outputs)
    assert near(two[:1], one[:1], 2e-4) and near(two, one, 1e-2) and one[1] < one[0] - 0.05, outputs
    assert near(*[numbers(r"test loss (\d\.\d+)", text) for text in outputs], 1e-2), outputs


def test_data_parallel_takes_the_stem_of_large_images(folder):
    text = run(program("data_parallel", folder), "d2l_resnet18_stem7", "96", "cpu:0,cpu:1", "16", "0.02", "2", FASHION_MNIST,
               "16", env=linked())
    losses = numbers(r"^epoch \d: loss (\d\.\d+)", text)
    assert len(losses) == 2 and losses[1] < losses[0] - 0.02, text


def test_one_program_is_one_process_and_several(folder):
    train, images = program("parallel_training", folder), "1024"

    def train_in(state, segments, *launcher):
        text = run(*launcher, train, FASHION_MNIST, "3", folder / state, segments, images, env=linked())
        assert f"{2 if launcher else 1} processes\n" in text and text.count("test acc") == 1, text
        return numbers(r"loss (\d\.\d+)", text), text.rsplit("test loss", 1)[1]

    one, tested = train_in("one.safetensors", "0")
    assert len(one) == 4 and one[2] < one[0] - 0.02, one
    assert train_in("again.safetensors", "3") == (one, tested)  # recompute changes no bit
    two, tested = train_in("two.safetensors", "0", BUILD / "troika", "run", "--processes", "2", "--")
    assert near(two, one, 1e-3), (two, one)
    text = run(train, FASHION_MNIST, "0", folder / "two.safetensors", "0", images, env=linked())
    assert text == f"1 processes\ntest loss{tested}", (text, tested)


def test_gluon_has_the_values_on_each_device(folder):
    text = run(program("gluon", folder), "cpu:0,cpu:1", "32", "0.02", "2", FASHION_MNIST, "32", env=linked())
    assert text.startswith("11175818 parameters\nrefused: parameter 'stem.conv.weight' has no value yet"), text
    assert "predicted f32[2, 10] on cpu:0\npredicted f32[2, 10] on cpu:1\n" in text, text
    values = re.findall(r"^stem\.conv\.weight begins with (\S+ \S+)$", text, flags=re.M)
    assert len(values) == 2 and values[0] == values[1] and all(0 < abs(float(v)) < 0.06 for v in values[0].split()), text
    assert re.search(r"^refused: parameter 'stem\.conv\.weight' is not on cpu:7;", text, flags=re.M), text
    losses = numbers(r"^epoch \d, .* loss (\d\.\d+)", text)
    assert len(losses) == 2 and losses[1] < losses[0] - 0.05, text
    listed = run(BUILD / "troika", "model", "d2l_resnet18", env=linked())
    assert re.search(r"^total +11,175,818 ", listed, flags=re.M), listed


if __name__ == "__main__":
    main(globals())
