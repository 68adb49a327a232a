"""Runs the parts of tests/gpu/run in sequence. Prints a table and, last, the sum of their tests.

- `run_parts.py FOLDER [PART...]` runs the parts (without names: all) of the build in FOLDER.
- `run_parts.py --emulated FOLDER [PART...]` does the same on GPUs in software (tests/emulated_gpu).
- `run_parts.py --why-not [PART...]` prints why no GPU can be used; nothing if a GPU can be used.
- `run_parts.py --skip REASON [PART...]` counts the parts as skipped.

With TROIKA_GPU_SECONDS, the current part ends after this time, and later parts are skipped.
"""

import ctypes
import os
import pathlib
import shutil
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import run_suites  # noqa: E402  (in the parent folder)

DEVICE = "cuda:0"
GOLDEN = sorted((ROOT / "tests/golden").glob("*.json"))
LOW_GOLDEN = [path for path in GOLDEN if path.stem in ("lenet", "d2l_resnet18_2_devices")]  # as in meson.build

# The cases that the sanitizers have time for: ten cases per op, and some more convolutions, in 16
# bits.
FEW_CASES = "--gtest_filter=Cases/Kernels.*_?:Cases/Kernels.*conv2d_3?"
# The cases of own kernels whose threads share memory. racecheck and initcheck look at each access,
# and so take about ten times as long as memcheck, which took 15 s for 277 cases on an H200. So 25 s
# are expected for these 48, and two minutes are the limit.
SHARING = ("batch_norm2d", "batch_norm2d_moments", "batch_norm2d_gradient", "conv2d", "embedding", "gradient_norm",
           "gradient_factor", "cross_entropy", "mean_squared_error", "lars_norms", "lamb_moments", "layer_norm", "group_norm",
           "rms_norm", "softmax", "linear", "linear_cross_entropy", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "sum_axes",
           "transpose", "sample_order", "batch_results")
SHARING_CASES = "--gtest_filter=" + ":".join(f"Cases/Kernels.*/{op}_{number}" for op in SHARING for number in (0, 1))
# The parts that run on GPUs in software, which take a hundred times as long.
EMULATED = ("conformance", "operations", "equivalence", "mixed", "tool", "golden_f32", "golden_bf16", "resume", "processes")
SLOWNESS = 6
# The number of concurrent processes of programs that wait more for the host than for the GPU. A
# process that damages its context does not affect the others.
SHARES = {"conformance": 8, "equivalence": 8, "mixed": 8}

SANITIZER = ["compute-sanitizer", "--report-api-errors", "no", "--error-exitcode", "99", "--tool"]
# The engines of cuDNN are not checked for races: they are not this project's code, and take many
# minutes.
OWN_KERNELS = ["--kernel-regex", "kns=troika"]

# Programs of kernels that must prove themselves (docs/decisions/kernels-for-hopper.md). Those for
# Hopper read a few rows too many, which others write, and do not use them: racecheck might report
# that.
WARPS = ("stem", "small_conv2d", "fused_pool", "few_outputs", "recurrent_sequence")
PROVEN = ("hopper", *WARPS)

# CPUs and the GPU in one trainer.
MIXED = ("--gtest_filter=Kinds.*:Layers.EqualOneDevice:Layers.GoOn*:Replication.*:SyncBatchNorm.*:LossScaling.*:"
         "All/Meshes.*/Mesh2x1x1*:All/Meshes.*/Mesh1x2x1*:All/Meshes.*/Mesh2x2x2*:-SyncBatchNorm.*Mesh:SyncBatchNorm.*Devices")
# Variables that the environment of one part has and the others do not.
ENVIRONMENTS = {"mixed": {"TROIKA_TEST_GPUS": "mixed"}}

# Name, limit in seconds, command. Programs are in the build folder.
PARTS = {
    "plans": (300, ["tests/backends/cuda/cuda_tests"]),
    "hopper": (300, ["tests/backends/cuda/hopper_tests"]),
    "stem": (300, ["tests/backends/cuda/stem_tests"]),
    "small_conv2d": (300, ["tests/backends/cuda/small_conv2d_tests"]),
    "fused_pool": (300, ["tests/backends/cuda/fused_pool_tests"]),
    "few_outputs": (300, ["tests/backends/cuda/few_outputs_tests"]),
    "recurrent_sequence": (300, ["tests/backends/cuda/recurrent_sequence_tests"]),
    "conformance": (1200, ["tests/conformance/conformance_tests"]),
    "operations": (600, ["tests/unit_tests", "--gtest_filter=CompiledOps.*:EagerDeviceTest.*:TapeTest.*"]),
    "equivalence": (1200, ["tests/equivalence/equivalence_tests"]),
    "mixed": (600, ["tests/equivalence/equivalence_tests", MIXED]),
    "tool": (600, [sys.executable, ROOT / "tests/cli/kinds_test.py"]),
    "golden_f32": (900, ["tests/golden_curves", "--devices", DEVICE, *GOLDEN]),
    "golden_bf16": (600, ["tests/golden_curves", "--devices", DEVICE, "--precision", "bf16", *LOW_GOLDEN]),
    "golden_f16": (600, ["tests/golden_curves", "--devices", DEVICE, "--precision", "f16", *LOW_GOLDEN]),
    "resume": (600, ["tests/resume/resume_test"]),
    "nccl": (900, ["tests/backends/cuda/nccl_test"]),
    "processes": (900, [sys.executable, ROOT / "tests/processes/gpu_test.py", "tests/processes/processes_host", "--one-gpu"]),
    "memcheck": (1800, [*SANITIZER, "memcheck", "tests/conformance/conformance_tests", FEW_CASES]),
    "racecheck": (120, [*SANITIZER, "racecheck", *OWN_KERNELS, "tests/conformance/conformance_tests", SHARING_CASES]),
    "initcheck": (120, [*SANITIZER, "initcheck", *OWN_KERNELS, "tests/conformance/conformance_tests", SHARING_CASES]),
    **{f"memcheck_{name}": (300, [*SANITIZER, "memcheck", f"tests/backends/cuda/{name}_tests"]) for name in PROVEN},
    **{f"racecheck_{name}": (600, [*SANITIZER, "racecheck", f"tests/backends/cuda/{name}_tests"]) for name in WARPS},
    "training": (3600, [sys.executable, ROOT / "tests/gpu/training_test.py"]),
}


def programs():
    """Returns the programs of all parts, as paths in the build folder."""
    return sorted({word for _, command in PARTS.values() for word in map(str, command) if word.startswith("tests/")})


def compute_capability():
    """Returns that of the first GPU; (0, 0) if there is no driver."""
    try:
        driver, numbers = ctypes.CDLL("libcuda.so.1"), []
    except OSError:
        return (0, 0)
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and MINOR
        value = ctypes.c_int(0)
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
        numbers.append(value.value)
    return tuple(numbers)


def why_no_gpu():
    """Returns why no GPU can be used here; empty if a GPU can be used."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver: libcuda.so.1 was not found by the loader"
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return f"there is no NVIDIA GPU: the driver answers with error {status}"
    return "" if count.value > 0 else "there is no NVIDIA GPU: none is visible"


def skipped(name, reason):
    """Returns the counts and the line of a part that does not run."""
    counts = run_suites.Counts()
    counts.skipped = 1
    return counts, f"skip gpu: {name}: {reason}"


def run_part(name, folder, is_emulated, seconds_left):
    """Runs a part. Returns its counts and its output."""
    limit_s, command = PARTS[name]
    if seconds_left < 5:
        return skipped(name, "no time is left")
    if is_emulated:
        limit_s *= SLOWNESS
        # The hundred layers of resnet50 take too long even with a longer limit.
        command = [word for word in command if "resnet50" not in str(word)]
    limit_s = int(min(limit_s, seconds_left))
    if command[0] == SANITIZER[0] and not shutil.which(command[0]):
        return skipped(name, "there is no compute-sanitizer on the PATH")
    if "hopper" in name and not (folder / PARTS["hopper"][1][0]).exists() and compute_capability() != (9, 0):
        return skipped(name, "this build has no code for compute capability 9.0")
    command = [str(folder / word) if str(word).startswith("tests/") else str(word) for word in command]
    plugin = folder / ("tests/emulated_gpu" if is_emulated else "src/backends/cuda")
    environment = {"TROIKA_TEST_DEVICE": DEVICE, "TROIKA_BACKEND_DIR": str(plugin), "EMULATED_GPUS": "8",
                   "TROIKA_ROOT": str(ROOT), "GTEST_BRIEF": "0",  # the log must name a test that hangs
                   "TROIKA_CACHE_DIR": str(plugin / "engines" if is_emulated else folder / "cache"),
                   "TROIKA_TOOL": str(folder / "troika"), **ENVIRONMENTS.get(name, {})}
    counts, output = run_suites.run_suite({"name": name, "cmd": command, "env": environment, "time_limit_s": limit_s,
                                           "shares": 1 if is_emulated else SHARES.get(name)}, str(folder), "none")
    if command[0] == SANITIZER[0] and "Device not supported" in output:
        return skipped(name, "compute-sanitizer does not support this device")
    return counts, output


def run_parts(folder, names, is_emulated):
    rows, total = [], run_suites.Counts()
    end = time.monotonic() + float(os.environ.get("TROIKA_GPU_SECONDS", "inf"))
    for name in names:
        began = time.monotonic()
        counts, output = run_part(name, folder, is_emulated, end - time.monotonic())
        total.add(counts)
        rows.append((name, counts, time.monotonic() - began))
        print(f"{'FAIL' if counts.failed else 'ok':4} {name:<12} {counts} ({rows[-1][2]:.1f} s)", flush=True)
        lines = output.splitlines()
        shown = lines if counts.failed else [line for line in lines if line.startswith(("ok ", "skip "))]
        print("".join(f"     | {line}\n" for line in shown), end="", flush=True)
    print(f"\n{'part':<12} {'passed':>8} {'failed':>8} {'skipped':>8} {'seconds':>8}")
    for name, counts, seconds in rows:
        print(f"{name:<12} {counts.passed:>8} {len(counts.failed):>8} {counts.skipped:>8} {seconds:>8.1f}")
    for name in total.failed[:40]:
        print(f"failed: {name}")
    print(total)
    return 1 if total.failed or total.passed == 0 else 0


def main():
    mode, arguments = sys.argv[1], sys.argv[2:]
    if mode == "--programs":
        print(*programs())
        return 0
    reason = arguments.pop(0) if mode == "--skip" else ""
    is_emulated = mode == "--emulated"
    if is_emulated:
        mode = arguments.pop(0)
    for name in arguments:
        if name not in PARTS:
            sys.exit(f"run: there is no part '{name}'; there are: {' '.join(PARTS)}")
    names = [name for name in (EMULATED if is_emulated else PARTS) if name in arguments or not arguments]
    if mode == "--why-not":
        print(why_no_gpu())
        return 0
    if mode == "--skip":
        total = run_suites.Counts()
        for name in names:
            counts, line = skipped(name, reason)
            total.add(counts)
            print(line)
        print(total)
        return 0
    return run_parts(pathlib.Path(mode).resolve(), names, is_emulated)


if __name__ == "__main__":
    sys.exit(main())
