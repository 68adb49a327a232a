#!/usr/bin/env python3
"""Writes how far PyTorch's autocast drifts from a golden curve, into the curve's file.

    tests/golden/autocast.py FILE...               bf16, from 16 random starts
    tests/golden/autocast.py --starts 40 FILE...

golden_curves --precision bf16 or f16 takes its tolerances from there, for any curve: a correct
implementation in 16 bits drifts as autocast does. Needs PyTorch, and a model of
tests/bench/pytorch_bench.py or torchvision. Each start has another salt, and the first has the file's own. The
largest deviations of all starts from float64 are kept under "autocast":

- losses: per step, relative, and never less than in the step before,
- gradient_norms: relative, of the last layer and of the other layers; only without BatchNorm,
- norms: of parameters and buffers after the last step, relative, of biases and of the others,
- logits: of the evaluation's first sample, as a part of the largest logit.
"""

import argparse
import importlib.util
import json
import math
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
MASK = 0xFFFFFFFF


def load_models():
    spec = importlib.util.spec_from_file_location("pytorch_bench", ROOT / "tests/bench/pytorch_bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_model(name):
    """Returns the function that makes a model, or None."""
    if found := getattr(load_models(), name, None):
        return found
    if not importlib.util.find_spec("torchvision"):
        return None
    import torchvision
    return getattr(torchvision.models, name, None)


def hash32(t, count, salt):
    """Returns hash32(t, i) of golden/README.md for i = 0 to count - 1."""
    h = (torch.arange(count, dtype=torch.int64) + ((t + salt) * 0x9E3779B1)) & MASK
    h = h ^ (h >> 16)
    h = (h * 0x85EBCA6B) & MASK
    h = h ^ (h >> 13)
    h = (h * 0xC2B2AE35) & MASK
    return h ^ (h >> 16)


def unit(t, count, salt):
    return (hash32(t, count, salt) >> 8).double() / 2**24 - 0.5


def initialise(model, salt):
    """Sets the parameters, in their order, to the numbers of golden/README.md."""
    number = 0
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            u = unit(number, parameter.numel(), salt).reshape(parameter.shape)
            if parameter.dim() > 1:
                value = u * 2 * math.sqrt(3) * math.sqrt(2 / (parameter.numel() / parameter.shape[0]))
            elif isinstance(module, torch.nn.BatchNorm2d):
                value = 1 + 0.2 * u if name == "weight" else 0.2 * u
            else:
                value = 0.1 * u
            # As a float32 run begins.
            parameter.data.copy_(value.float())
            number += 1


def batch_of(golden, number, salt):
    shape = [golden["batch"], *golden["input"]]
    x = (2 * unit(1000 + number, math.prod(shape), salt)).float().reshape(shape)
    return x, hash32(2000 + number, golden["batch"], salt) % golden["classes"]


def optimizer_of(golden, parameters):
    name = golden.get("optimizer", "sgd")
    common = {"lr": golden["lr"], "weight_decay": golden["weight_decay"]}
    if name == "sgd":
        return torch.optim.SGD(parameters, momentum=golden["momentum"], nesterov=golden["nesterov"], **common)
    if name in ("adam", "adamw"):
        kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        return kind(parameters, betas=tuple(golden["betas"]), eps=golden["eps"], **common)
    if name == "rmsprop":
        return torch.optim.RMSprop(parameters, alpha=golden["alpha"], eps=golden["eps"], momentum=golden["momentum"], **common)
    if name == "adagrad":
        return torch.optim.Adagrad(parameters, eps=golden["eps"], **common)
    if name in ("lars", "lamb"):
        return LayerWise(parameters, golden)
    sys.exit(f"autocast.py: {golden['name']}: no optimizer '{name}' here")


class LayerWise(torch.optim.Optimizer):
    """LARS and LAMB, which PyTorch lacks, as src/ops/lars.cpp and lamb.cpp define them."""

    def __init__(self, parameters, golden):
        super().__init__(parameters, {})
        self.golden, self.steps = golden, 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for p in self.param_groups[0]["params"]:
            if p.grad is not None:
                (self.lars if self.golden["optimizer"] == "lars" else self.lamb)(p, self.golden, self.state[p])

    def lars(self, p, golden, state):
        decay = golden["weight_decay"] if p.dim() > 1 else 0
        ratio, sizes = 1.0, (p.norm(), p.grad.norm())
        if p.dim() > 1 and all(sizes):
            ratio = golden.get("trust", 0.001) * sizes[0] / (sizes[1] + decay * sizes[0] + golden["eps"])
        momentum = state.setdefault("momentum", torch.zeros_like(p))
        momentum.mul_(golden["momentum"]).add_(golden["lr"] * ratio * (p.grad + decay * p))
        p.sub_(momentum)

    def lamb(self, p, golden, state):
        mean, square = (state.setdefault(slot, torch.zeros_like(p)) for slot in ("mean", "square"))
        for slot, beta, value in zip((mean, square), golden["betas"], (p.grad, p.grad**2)):
            slot.mul_(beta).add_((1 - beta) * value)
        r, v = (slot / (1 - beta**self.steps) for slot, beta in zip((mean, square), golden["betas"]))
        r = r / (v.sqrt() + golden["eps"]) + (golden["weight_decay"] if p.dim() > 1 else 0) * p
        sizes = (p.norm(), r.norm())
        p.sub_(golden["lr"] * (sizes[0] / sizes[1] if p.dim() > 1 and all(sizes) else 1.0) * r)


def follow(golden, make_model, salt, dtype):
    """Trains by the recipe: in float64, or in 16 bits by autocast. Returns what the file records."""
    model = make_model()
    initialise(model, salt)
    is_low = dtype != torch.float64
    if not is_low:
        model.double()
    model.train()
    shapes = [list(p.shape) for p in model.parameters()]
    if shapes != [p["shape"] for p in golden["parameters"]]:
        sys.exit(f"autocast.py: {golden['name']}: the parameters of {golden['model']} have other shapes than the file's")
    norms_of = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    trained = [p for name, p in model.named_parameters() if name.startswith(golden.get("train_only", ""))]
    for p in model.parameters():
        p.requires_grad_(any(p is other for other in trained))
    optimizer = optimizer_of(golden, trained)
    run = {"losses": []}
    for step in range(golden["steps"]):
        x, labels = batch_of(golden, step % 2, salt)
        optimizer.zero_grad()
        loss, first = 0.0, 0
        for shard, rows in enumerate(golden["shards"]):
            for norm in norms_of:
                norm.momentum = 0.1 if shard == 0 else 0.0  # the statistics that count are those of device 0
            piece = x[first:first + rows]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_low):
                y = model(piece if is_low else piece.double())
            own = torch.nn.functional.cross_entropy(y.float() if is_low else y, labels[first:first + rows])
            own = own * (rows / golden["batch"])
            own.backward()
            loss += own.item()
            first += rows
        run["losses"].append(loss)
        if step == 0:
            run["gradient_norms"] = [p.grad.double().norm().item() for p in trained]
        optimizer.step()
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_low):
        x = batch_of(golden, 500, salt)[0]
        run["logits"] = model(x if is_low else x.double())[0].double()
    biases = [p.dim() == 1 and not any(p is norm.weight for norm in norms_of) for p in model.parameters()]
    run["norms"] = [(p.detach().double().norm().item(), bias) for p, bias in zip(model.parameters(), biases)]
    run["norms"] += [(b.double().norm().item(), False) for n, b in model.named_buffers() if "running" in n]
    return run


def relative(found, expected):
    return abs(found - expected) / abs(expected) if expected else abs(found)


def deviation(exact, low, has_batch_norm):
    losses = [relative(l, e) for l, e in zip(low["losses"], exact["losses"])]
    own = {"losses": losses, "norms": {}, "logits": ((low["logits"] - exact["logits"]).abs().max()
                                                     / exact["logits"].abs().max()).item()}
    for kind in (True, False):
        pairs = [(l[0], e[0]) for l, e in zip(low["norms"], exact["norms"]) if e[1] == kind]
        own["norms"]["biases" if kind else "others"] = max((relative(*pair) for pair in pairs), default=0.0)
    if not has_batch_norm:
        gradients = [relative(l, e) for l, e in zip(low["gradient_norms"], exact["gradient_norms"])]
        own["gradient_norms"] = {"last": max(gradients[-2:]), "others": max(gradients[:-2], default=0.0)}
    return own


def largest(a, b):
    if isinstance(a, dict):
        return {key: largest(a[key], b[key]) for key in a}
    if isinstance(a, list):
        return [max(pair) for pair in zip(a, b)]
    return max(a, b)


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.2g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--starts", type=int, default=16)
    arguments = parser.parse_args()
    for path in arguments.files:
        golden = json.loads(path.read_text())
        make_model = find_model(golden["model"])
        if make_model is None:
            sys.exit(f"autocast.py: {path}: no model '{golden['model']}' in tests/bench/pytorch_bench.py or torchvision")
        has_batch_norm = bool(golden["buffer_norms_end"])
        worst = None
        for start in range(arguments.starts):
            salt = golden["salt"] + 10000 * start
            exact = follow(golden, make_model, salt, torch.float64)
            if start == 0 and any(relative(*pair) > 1e-6 for pair in zip(exact["losses"], golden["losses"])):
                sys.exit(f"autocast.py: {path}: float64 has the losses {exact['losses']}, the file {golden['losses']}")
            own = deviation(exact, follow(golden, make_model, salt, torch.bfloat16), has_batch_norm)
            worst = own if worst is None else largest(worst, own)
        for step in range(1, golden["steps"]):
            worst["losses"][step] = max(worst["losses"][step - 1:step + 1])
        golden["autocast"] = {"torch": torch.__version__, "starts": arguments.starts, **rounded(worst)}
        path.write_text(json.dumps(golden, indent=1) + "\n")
        print(f"{path}: losses {golden['autocast']['losses']}, logits {golden['autocast']['logits']}")


if __name__ == "__main__":
    main()
