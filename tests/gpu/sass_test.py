"""Checks the machine code of GPU kernels: no GPU is needed.

    sass_test.py FOLDER      the folder with the kernels' object files

- Kernels for Hopper multiply by HGMMA, load by TMA, and keep all registers: no stack, no spills.
- Kernels that multiply by warps have HMMA, keep all registers, and move 16 bytes at once.
- Kernels that keep weights in registers read 16 bytes of shared memory at once.
- Kernels that move packs of 16 bytes load 16 bytes at once, and store as many if they write images.
- No kernel for 9.0 and later has local memory, except a few that are named here.
- Every kernel for 9.0 and later touches memory only after it has waited for the kernels before it.

cuobjdump and nvdisasm come from the PATH, or from their wheels, which are installed in build/tools.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = ROOT / "build/tools/cuda-binaries"
HOPPER = {
    "conv2d_1x1": "conv2d_1x1_kernel",
    "conv2d_1x1_weight_gradient": "conv2d_1x1_weight_gradient_kernel",
    "conv2d_64": "conv2d_64_kernel",
    "conv2d_64_halving": "conv2d_64_halving_kernel",
    "conv2d_64_halving_gradient": "conv2d_64_halving_gradient_kernel",
    "conv2d_64_weight_gradient": "conv2d_64_weight_gradient_kernel",
    "conv2d_wide": "conv2d_wide_kernel",
    "conv2d_wide_weight_gradient": "conv2d_wide_weight_gradient_kernel",
}
# Kernels whose warps multiply, for each architecture: the widest move that they need, or that those
# of some forms need.
WARPS = {
    "small_conv2d": ("small_conv2d_kernel", "LDSM.16.M88.4"),
    "small_conv2d_weight_gradient": ("small_weight_gradient_kernel", "LDSM.16.MT88.4"),
    "stem_mma": ("stem_mma_kernel", "STG.E.128", r"Ending\)[01]>"),  # one that pools stores two channels at once
    "stem_mma_gradient": ("stem_mma_gradient_kernel", "LDG.E.128", r"<__nv_bfloat16, 4, 2, (true|false)>"),
}
# Kernels that keep weights in registers.
HELD = {"recurrent_sequence": "sequence_", "recurrent_teams": "teams_"}
# Kernels with local memory: arrays that are indexed by a variable, and the power of two doubles.
LOCAL = {"adamw": "update_kernel", "pool2d": "(max_pool_gradient|average_gradient|average)_kernel"}
# Kernels whose packs have 16 bytes.
PACKED = {
    "batch_norm2d": r"(statistics|normalize)_kernel<\w+, 8>",
    "batch_norm2d_gradient": r"kernel<\w+, 8>",
}


# Whatever reads or writes memory that other kernels can write.
MEMORY = re.compile(r"\b(LDG|LD|STG|ST|ATOM|ATOMG|RED|REDG|LDGSTS|UTMALDG|UTMASTG|UTMAREDG|UTMAPF|UBLKCP|UBLKPF|CCTL)\b")


def find_tools():
    """Puts cuobjdump and nvdisasm on the PATH. Returns why they are missing; empty if they are there."""
    if shutil.which("cuobjdump") and shutil.which("nvdisasm"):
        return ""
    if not WHEELS.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target",
                   str(WHEELS), "nvidia-cuda-cuobjdump", "nvidia-cuda-nvdisasm"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return (run.stderr.strip().splitlines() or ["pip failed"])[-1]
    folders = {str(path.parent) for name in ("cuobjdump", "nvdisasm") for path in WHEELS.rglob(name) if path.is_file()}
    for folder in folders:
        for path in pathlib.Path(folder).iterdir():
            path.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])
    return "" if shutil.which("cuobjdump") and shutil.which("nvdisasm") else "the wheels have no such programs"


def demangled(text):
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout


@functools.cache
def cuobjdump(option, path):
    return subprocess.run(["cuobjdump", option, str(path)], capture_output=True, text=True, check=True).stdout


def functions(sass):
    """Returns the name and the instructions of each kernel."""
    parts = re.split(r"\n[ \t]*Function : ([^\n]+)\n", sass)
    return list(zip(demangled("\n".join(parts[1::2])).splitlines(), parts[2::2]))


def stacks_of(path):
    """Returns the bytes of stack of each kernel, by its name."""
    found = re.findall(r"Function ([^\n]+):\n[^\n]*?STACK:(\d+)", demangled(cuobjdump("--dump-resource-usage", path)))
    return {name: int(stack) for name, stack in found}


def code_of(path):
    """Returns the instructions of each kernel, by its name."""
    return dict(functions(cuobjdump("-sass", path)))


def report(name, faults):
    for fault in faults[:5]:
        print(f"  {fault}")
    print(f"{'not ok' if faults else 'ok'} {name}")
    return bool(faults)


def short(kernel):
    return kernel.replace("troika::cuda::", "").replace("(anonymous namespace)::", "").replace("hopper::", "").split("(")[0]


def hopper_faults(path, name):
    faults = []
    stacks = {kernel: stack for kernel, stack in stacks_of(path).items() if name in kernel}
    code = {kernel: text for kernel, text in code_of(path).items() if name in kernel}
    if not stacks or stacks.keys() != code.keys():
        faults.append(f"{path.name}: {len(stacks)} kernels with a stack, {len(code)} with code; need the same, and some")
    faults += [f"{short(kernel)} has a stack of {stack} bytes, need 0" for kernel, stack in stacks.items() if stack]
    for kernel, text in code.items():
        faults += [f"{short(kernel)} has no {needed}" for needed in ("HGMMA", "UTMALDG") if needed not in text]
        faults += [f"{short(kernel)} spills: {spill}" for spill in ("STL", "LDL") if re.search(rf"\b{spill}\b", text)]
        # A compiler that fears for registers lets each product wait for the one before.
        products, waits = text.count("HGMMA"), text.count("WARPGROUP.DEPBAR.LE gsb0, 0x0")
        if waits * 7 > products:
            faults.append(f"{short(kernel)} waits {waits} times for all of its {products} products, need 1 in 7 at most")
    return faults


def warp_faults(path, name, move, form=""):
    """An object file has each kernel once for each architecture."""
    stacks = re.findall(r"Function ([^\n]+):\n[^\n]*?STACK:(\d+)", demangled(cuobjdump("--dump-resource-usage", path)))
    code = functions(cuobjdump("-sass", path))
    faults = [f"{short(kernel)} has a stack of {stack} bytes, need 0" for kernel, stack in stacks if int(stack)]
    for kernel, text in code:
        product = "HMMA.1688.F32.TF32" if "<float" in kernel else "HMMA.16816.F32"
        if name in kernel and product not in text:
            faults.append(f"{short(kernel)} has no {product}")
        faults += [f"{short(kernel)} spills: {spill}" for spill in ("STL", "LDL") if re.search(rf"\b{spill}\b", text)]
    named = [(kernel, text) for kernel, text in code if name in kernel and re.search(form, kernel) and "<float" not in kernel]
    if not named:
        faults.append(f"{path.name} has no kernel {name}")
    return faults + [f"{short(kernel)} has no {move}" for kernel, text in named if move not in text]


def functions_from_90(path):
    """Returns the name and the instructions of each kernel for 9.0 and later."""
    images = cuobjdump("-sass", path).split("code for sm_")[1:]
    return [found for image in images if int(re.match(r"\d+", image).group()) >= 90 for found in functions(image)]


def held_faults(path, name):
    code = [(kernel, text) for kernel, text in functions_from_90(path) if name in kernel]
    faults = [f"{short(kernel)} has no LDS.128" for kernel, text in code if "LDS.128" not in text]
    return faults if code else [f"{path.name} has no kernel {name} for 9.0 or later"]


def packed_faults(path, pattern):
    code = {kernel: text for kernel, text in code_of(path).items() if re.search(pattern, short(kernel))}
    faults = [] if code else [f"{path.name} has no kernel {pattern}"]
    faults += [f"{short(kernel)} loads no 16 bytes at once" for kernel, text in code.items() if "LDG.E.128" not in text]
    return faults + [f"{short(kernel)} stores no 16 bytes at once" for kernel, text in code.items()
                     if "normalize" in kernel and "STG.E.128" not in text]


def spill_faults(folder):
    faults, kernels = [], 0
    for path in sorted(folder.glob("*.o")):
        for kernel, text in functions_from_90(path):
            kernels += 1
            if re.search(r"\b(STL|LDL)\b", text) and not (path.stem in LOCAL and re.search(LOCAL[path.stem], kernel)):
                faults.append(f"{path.stem}: {short(kernel)} has local memory")
    return faults if kernels else ["there is no kernel for 9.0 or later"]


def order_faults(folder):
    """Returns the kernels that may touch memory, or end, before they wait."""
    faults, kernels = [], 0
    for path in sorted(folder.glob("*.o")):
        for kernel, text in functions_from_90(path):
            kernels += 1
            before, wait, after = text.partition("ACQBULK")
            if not wait or "PREEXIT" not in after:
                faults.append(f"{path.stem}: {short(kernel)} does not wait for the kernels before it")
            elif left := re.search(r"\b(EXIT|BRA|BRX|CALL|RET|JMP)\b", before):
                faults.append(f"{path.stem}: {short(kernel)} has {left.group()} before it waits")
            elif touched := MEMORY.search(before):
                faults.append(f"{path.stem}: {short(kernel)} has {touched.group()} before it waits")
    return faults if kernels else ["there is no kernel for 9.0 or later"]


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("sass_test.py: need the folder with the kernels' object files, such as build/src/backends/cuda")
    folder = pathlib.Path(sys.argv[1])
    # A build for other GPUs has none of them.
    hopper = HOPPER if any((folder / f"{name}.o").exists() for name in HOPPER) else {}
    names = [*(f"hopper_{name}" for name in hopper), *(f"warps_{name}" for name in WARPS), *(f"held_{name}" for name in HELD),
             *(f"packs_{name}" for name in PACKED), "spills", "order"]
    if why := find_tools():
        for name in names:
            print(f"skip {name} {why}")
        return 0
    failed = [report(f"hopper_{name}", hopper_faults(folder / f"{name}.o", kernel)) for name, kernel in hopper.items()]
    failed += [report(f"warps_{name}", warp_faults(folder / f"{name}.o", *needed)) for name, needed in WARPS.items()]
    failed += [report(f"held_{name}", held_faults(folder / f"{name}.o", kernel)) for name, kernel in HELD.items()]
    failed += [report(f"packs_{name}", packed_faults(folder / f"{name}.o", pattern)) for name, pattern in PACKED.items()]
    failed.append(report("spills", spill_faults(folder)))
    failed.append(report("order", order_faults(folder)))
    return any(failed)


if __name__ == "__main__":
    sys.exit(main())
