#!/usr/bin/env python3
"""Measures how fast JAX trains one of Troika's benchmark models, for tests/bench/gpu.

A step is forward, mean cross-entropy, backward and plain SGD, jitted as a whole with its state
donated. All steps use one batch of random numbers, which is already in the device's memory. Images
are NHWC; bf16 computes convolutions and products in bf16 with f32 parameters and f32 statistics.
JAX uses the fastest device that it has.

    python3 tests/bench/jax_bench.py --model d2l_lenet --batch 256
    jax 0.10.2 d2l_lenet batch 256 f32 cpu: 4100 img/s (4050-4150), 62.4 ms/step, first step 1.20 s
"""

import argparse
import functools
import statistics
import time

import jax
import jax.numpy as jnp
import numpy
from jax import lax

EPSILON, MOMENTUM = 1e-5, 0.1  # of BatchNorm


class Builder:
    """Collects parameters and running statistics by name, and returns them when the net is run."""

    def __init__(self, key, dtype):
        self.key, self.dtype = key, dtype
        self.parameters, self.statistics = {}, {}
        self.is_building = True

    def run(self, net, parameters, statistics, x):
        self.is_building, self.parameters, self.statistics = False, parameters, dict(statistics)
        return net(self, x), self.statistics

    def parameter(self, name, shape, scale):
        if self.is_building:
            self.key, key = jax.random.split(self.key)
            self.parameters[name] = scale * jax.random.normal(key, shape, jnp.float32)
        return self.parameters[name]

    def conv(self, name, x, channels, size, stride=1, padding=0, bias=True):
        fan_in = size * size * x.shape[-1]
        weight = self.parameter(name + ".weight", (size, size, x.shape[-1], channels), fan_in ** -0.5)
        y = lax.conv_general_dilated(x.astype(self.dtype), weight.astype(self.dtype), (stride, stride),
                                     [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return y + self.parameter(name + ".bias", (channels,), 0.0).astype(self.dtype) if bias else y

    def linear(self, name, x, outputs):
        weight = self.parameter(name + ".weight", (x.shape[-1], outputs), x.shape[-1] ** -0.5)
        return x.astype(self.dtype) @ weight.astype(self.dtype) + self.parameter(
            name + ".bias", (outputs,), 0.0).astype(self.dtype)

    def batch_norm(self, name, x):
        channels = x.shape[-1]
        weight = 1.0 + self.parameter(name + ".weight", (channels,), 0.0)
        bias = self.parameter(name + ".bias", (channels,), 0.0)
        wide = x.astype(jnp.float32)
        mean, variance = jnp.mean(wide, (0, 1, 2)), jnp.var(wide, (0, 1, 2))
        if self.is_building:
            self.statistics[name] = (jnp.zeros(channels), jnp.ones(channels))
        count = x.size // channels
        old_mean, old_variance = self.statistics[name]
        self.statistics[name] = (old_mean + MOMENTUM * (mean - old_mean),
                                 old_variance + MOMENTUM * (variance * count / max(count - 1, 1) - old_variance))
        scale = weight * lax.rsqrt(variance + EPSILON)
        return (wide * scale + (bias - mean * scale)).astype(x.dtype)


def pool(x, operation, initial, size, stride, padding=0):
    return lax.reduce_window(x, numpy.asarray(initial, x.dtype), operation, (1, size, size, 1), (1, stride, stride, 1),
                             [(0, 0), (padding, padding), (padding, padding), (0, 0)])


def average_pool(x):
    return pool(x, lax.add, 0, 2, 2) / 4


def d2l_lenet(b, x):
    x = average_pool(jax.nn.relu(b.conv("conv1", x, 20, 3)))
    x = average_pool(jax.nn.relu(b.conv("conv2", x, 50, 5)))
    x = jax.nn.relu(b.linear("fc1", x.reshape(x.shape[0], -1), 128))
    return b.linear("fc2", x, 10)


def d2l_resnet18(b, x):
    x = jax.nn.relu(b.batch_norm("bn1", b.conv("conv1", x, 64, 3, 1, 1)))
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            name, stride = f"layer{stage}.{block}", 2 if stage > 0 and block == 0 else 1
            y = jax.nn.relu(b.batch_norm(name + ".bn1", b.conv(name + ".conv1", x, channels, 3, stride, 1)))
            y = b.batch_norm(name + ".bn2", b.conv(name + ".conv2", y, channels, 3, 1, 1))
            if y.shape != x.shape:
                x = b.conv(name + ".downsample", x, channels, 1, stride)
            x = jax.nn.relu(y + x)
    return b.linear("fc", jnp.mean(x, (1, 2)), 10)


def resnet50(b, x):
    x = jax.nn.relu(b.batch_norm("bn1", b.conv("conv1", x, 64, 7, 2, 3, bias=False)))
    x = pool(x, lax.max, -jnp.inf, 3, 2, 1)
    for stage, (channels, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if stage > 0 and block == 0 else 1
            y = jax.nn.relu(b.batch_norm(name + ".bn1", b.conv(name + ".conv1", x, channels, 1, bias=False)))
            y = jax.nn.relu(b.batch_norm(name + ".bn2", b.conv(name + ".conv2", y, channels, 3, stride, 1, bias=False)))
            y = b.batch_norm(name + ".bn3", b.conv(name + ".conv3", y, 4 * channels, 1, bias=False))
            if y.shape != x.shape:
                x = b.batch_norm(name + ".downsample.1",
                                 b.conv(name + ".downsample.0", x, 4 * channels, 1, stride, bias=False))
            x = jax.nn.relu(y + x)
    return b.linear("fc", jnp.mean(x, (1, 2)), 1000)


# A net, the shape of a sample, and classes.
MODELS = {"d2l_lenet": (d2l_lenet, (28, 28, 1), 10), "d2l_resnet18": (d2l_resnet18, (28, 28, 1), 10),
          "resnet50": (resnet50, (224, 224, 3), 1000)}


def parse_arguments():
    parser = argparse.ArgumentParser(description="Measure how fast JAX trains a model.")
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--batch", type=int, required=True, help="images in one step")
    parser.add_argument("--size", type=int, default=0, help="image size (default: the model's)")
    parser.add_argument("--precision", choices=("f32", "tf32", "bf16"), default="f32")
    parser.add_argument("--windows", type=int, default=5, help="timed windows (default 5)")
    parser.add_argument("--steps", type=int, default=0, help="steps in a window (default: about one second's worth)")
    return parser.parse_args()


def make_step(arguments):
    """Returns a function that does a step on its own state and returns the loss unawaited."""
    net, shape, classes = MODELS[arguments.model]
    if arguments.size:
        shape = (arguments.size, arguments.size, shape[2])
    key, images_key, labels_key = jax.random.split(jax.random.PRNGKey(0), 3)
    images = jax.random.normal(images_key, (arguments.batch, *shape))
    labels = jax.random.randint(labels_key, (arguments.batch,), 0, classes)
    builder = Builder(key, jnp.bfloat16 if arguments.precision == "bf16" else jnp.float32)
    net(builder, images[:1])
    state = [builder.parameters, builder.statistics]

    def loss_of(parameters, statistics, images, labels):
        logits, new_statistics = builder.run(net, parameters, statistics, images)
        chosen = jax.nn.log_softmax(logits.astype(jnp.float32))[jnp.arange(arguments.batch), labels]
        return -jnp.mean(chosen), new_statistics

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    # Images and labels are arguments, because captured arrays would be constants and be folded.
    def train(parameters, statistics, images, labels):
        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters, statistics, images, labels)
        return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), statistics, loss

    def step():
        state[0], state[1], loss = train(*state, images, labels)
        return loss

    return step


def seconds_per_step(step, steps):
    began = time.perf_counter()
    for _ in range(steps):
        loss = step()
    loss.block_until_ready()
    return (time.perf_counter() - began) / steps


def main():
    arguments = parse_arguments()
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if arguments.precision == "tf32" else "float32")
    began = time.perf_counter()
    step = make_step(arguments)
    step().block_until_ready()
    first_s = time.perf_counter() - began
    one_step_s = seconds_per_step(step, 3)
    steps = arguments.steps or max(3, round(1.0 / one_step_s))
    windows_s = [seconds_per_step(step, steps) for _ in range(arguments.windows)]
    median_s = statistics.median(windows_s)
    print(f"jax {jax.__version__} {arguments.model} batch {arguments.batch} {arguments.precision} "
          f"{jax.devices()[0].platform}: {arguments.batch / median_s:.0f} img/s "
          f"({arguments.batch / max(windows_s):.0f}-{arguments.batch / min(windows_s):.0f}), "
          f"{median_s * 1000:.2f} ms/step, first step {first_s:.2f} s")


if __name__ == "__main__":
    main()
