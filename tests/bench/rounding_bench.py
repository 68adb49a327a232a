#!/usr/bin/env python3
"""Compares the errors of 16-bit training in Troika with those of PyTorch's autocast, on the CPU:

    ninja -C build tests/rounding_bench
    python3 tests/bench/rounding_bench.py build/tests/rounding_bench [STARTS]

Trains d2l_lenet for eight steps (tests/bench/rounding_bench.c) from STARTS random starts, and
compares each run with the same run in float64. `casts alone` computes in float64, and rounds to
bf16 exactly the values that Troika stores in bf16. Each line shows:

- the largest error of a logit: the median and the largest over all starts,
- the error of all logits after the last step, relative to autocast's error: the geometric mean
  over all starts, with its standard error,
- the same mean for each gradient of the first step.
"""

import os
import subprocess
import sys

import numpy as np
import torch
from torch.nn import functional

SAMPLES, SHARDS, STEPS, RATE = 88, 4, 8, 0.2
SHAPES = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (128, 800), (128,), (10, 128), (10,)]
LIMITS = ["SSE41", "AVX2", "AVX512_CORE", "AVX512_CORE_BF16", "DEFAULT"]


def hash32(salt, t, n):
    h = np.arange(n, dtype=np.uint64) + ((t + salt) * 0x9E3779B1 & 0xFFFFFFFF) & 0xFFFFFFFF
    h ^= h >> 16
    h = h * 0x85EBCA6B & 0xFFFFFFFF
    h ^= h >> 13
    h = h * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def unit(salt, t, n):
    return (hash32(salt, t, n) >> 8) / 2**24 - 0.5


def make_parameters(salt, dtype):
    parameters = []
    for t, shape in enumerate(SHAPES):
        n = int(np.prod(shape))
        scale = 2 * np.sqrt(3) * np.sqrt(2 / (n // shape[0])) if len(shape) > 1 else 0.1
        values = (scale * unit(salt, t, n)).astype(np.float32).reshape(shape)
        parameters.append(torch.tensor(values, dtype=dtype, requires_grad=True))
    return parameters


def make_batch(salt, batch, dtype):
    x = (2 * unit(salt, 1000 + batch, SAMPLES * 784)).astype(np.float32).reshape(SAMPLES, 1, 28, 28)
    labels = (hash32(salt, 2000 + batch, SAMPLES) % 10).astype(np.int64)
    return torch.tensor(x, dtype=dtype), torch.tensor(labels)


class Round(torch.autograd.Function):
    @staticmethod
    def forward(context, x, also_gradient):
        context.also_gradient = also_gradient
        return x.bfloat16().to(x.dtype)

    @staticmethod
    def backward(context, dy):
        return dy.bfloat16().to(dy.dtype) if context.also_gradient else dy, None


class RoundGradient(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, dy):
        return dy.bfloat16().to(dy.dtype)


def apply_net(p, x, stored=lambda x: x, weight=lambda w: w, logits=lambda x: x):
    x = stored(x)
    for i in (0, 2):
        x = stored(functional.relu(functional.conv2d(x, weight(p[i]), p[i + 1])))
        x = stored(functional.avg_pool2d(x, 2))
    x = stored(functional.relu(functional.linear(x.flatten(1), weight(p[4]), p[5])))
    return logits(functional.linear(x, weight(p[6]), p[7]))


def apply_casts(p, x):
    return apply_net(p, x, lambda x: Round.apply(x, True), lambda w: Round.apply(w, False), RoundGradient.apply)


def train(salt, dtype, net, autocast=False):
    """Gradients of the first step and logits of the evaluation, as float64."""
    parameters = make_parameters(salt, dtype)
    gradients = []
    for step in range(STEPS):
        for p in parameters:
            p.grad = None
        for x, labels in zip(*(part.chunk(SHARDS) for part in make_batch(salt, step % 2, dtype))):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                loss = functional.cross_entropy(net(parameters, x), labels, reduction="sum") / SAMPLES
            loss.backward()
        gradients = gradients or [p.grad.double().clone() for p in parameters]
        with torch.no_grad():
            for p in parameters:
                p -= RATE * p.grad
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        return gradients, net(parameters, make_batch(salt, 500, dtype)[0]).double()


def run_troika(bench, salt, precision, limit):
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": limit}
    environment.pop("LD_PRELOAD", None)  # what this Python itself may need
    written = subprocess.run([bench, str(salt), precision], stdout=subprocess.PIPE, check=True, env=environment).stdout
    rest, gradients = torch.frombuffer(bytearray(written), dtype=torch.float32).double(), []
    for shape in SHAPES:
        gradients.append(rest[:int(np.prod(shape))].reshape(shape))
        rest = rest[int(np.prod(shape)):]
    return gradients, rest.reshape(SAMPLES, 10)


def main():
    bench, starts = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    torch.set_num_threads(2)
    kinds = {"autocast": lambda salt: train(salt, torch.float32, apply_net, autocast=True)}
    for limit in LIMITS:
        kinds["bf16 " + limit] = lambda salt, limit=limit: run_troika(bench, salt, "bf16", limit)
    kinds["f16"] = lambda salt: run_troika(bench, salt, "f16", "DEFAULT")
    kinds["casts alone"] = lambda salt: train(salt, torch.float64, apply_casts)
    errors = {kind: [] for kind in kinds}
    for salt in range(starts):
        exact = train(salt, torch.float64, apply_net)
        for kind, run in kinds.items():
            gradients, logits = run(salt)
            norms = [float((g - e).norm()) for g, e in zip(gradients + [logits], exact[0] + [exact[1]])]
            errors[kind].append([float((logits - exact[1]).abs().max()), *norms])
    base = np.array(errors["autocast"])
    for kind, found in errors.items():
        found = np.array(found)
        ratios = np.log(found / base)
        mean, deviation = np.exp(ratios.mean(0)), ratios.std(0, ddof=1) / np.sqrt(starts)
        print(f"{kind:22} logits {np.median(found[:, 0]):.3f} (largest {found[:, 0].max():.3f}), over autocast's "
              f"{mean[-1]:.3f} +- {deviation[-1]:.3f}, gradients " + " ".join(f"{m:.3f}" for m in mean[1:-1]))


if __name__ == "__main__":
    main()
