"""Tests of tests/gpu/ways, changes, profile and run_parts.py, on a GPU in software. TROIKA_TOOL names the tool.

Prints one line per test: `ok NAME` or `not ok NAME`."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAYS = ROOT / "tests/gpu/ways"


def load():
    loader = importlib.machinery.SourceFileLoader("ways", str(WAYS))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("ways", loader))
    sys.modules["ways"] = module
    loader.exec_module(module)
    return module


def every_way_of_lenet_has_a_time():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "ways.tsv"
        run = subprocess.run([sys.executable, WAYS, "--work", "d2l_lenet:4:bf16", "--out", out], capture_output=True, text=True,
                             env=os.environ | {"TROIKA": os.environ["TROIKA_TOOL"]})
        assert run.returncode == 0, run.stderr
        lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert lines[0] == ["problem", "way", "us", "difference", "chosen"], lines[0]
    problems = {problem.split()[0] for problem, *_ in lines[1:]}
    assert problems == {"conv2d", "conv2d_input_gradient", "conv2d_weight_gradient", "linear_weight_gradient",
                        "linear_cross_entropy"}, problems
    known = r"eng|^direct$|^algo|^few_outputs|^stem_|^small|^parts$|^classifier"
    assert all(float(us) > 0 and re.search(known, way) for _, way, us, *_ in lines[1:]), lines
    count = len({problem for problem, *_ in lines[1:]})
    assert sum(int(chosen) for *_, chosen in lines[1:]) == count, lines
    assert f"{count} problems, {len(lines) - 1} ways" in run.stdout, run.stdout
    for problem in {problem for problem, *_ in lines[1:]}:
        differences = [difference for name, _, _, difference, _ in lines[1:] if name == problem]
        assert differences[0] == "" and all(float(difference) < 0.05 for difference in differences[1:]), (problem, differences)
    few = [way for problem, way, *_ in lines[1:] if problem.startswith("linear_weight_gradient") and "[10, 4]" in problem]
    assert "few_outputs1" in few and sum(way.startswith("algo") for way in few) > 1, few


def a_proof_and_a_kernel_that_was_struck_out_are_read():
    problems, struck_out = load().read([
        "warning plan: conv2d 'a' on cuda:0: the kernel hopper2 is not used: its result differs by 0.05 of the norm; conv2d bf16",
        "debug plan: measured conv2d bf16 1x64: hopper2: 81.4 us, differs by 0.0016 of the norm",
        "debug plan: measured conv2d bf16 1x64: rounded:eng52_k2=3: inf us",
        "debug plan: chosen conv2d bf16 1x64: hopper2",
        "info plan: compiled plan"])
    (ways,) = problems.values()
    assert [(way.name, way.us, way.difference, way.is_chosen) for way in ways] == [
        ("hopper2", 81.4, "0.0016", True), ("rounded:eng52_k2=3", float("inf"), "", False)], ways
    assert len(struck_out) == 1 and "differs by 0.05" in struck_out[0], struck_out


def a_wrong_work_is_refused_in_a_line():
    run = subprocess.run([sys.executable, WAYS, "--work", "d2l_lenet"], capture_output=True, text=True,
                         env=os.environ | {"TROIKA": os.environ["TROIKA_TOOL"]})
    assert run.returncode == 1, run
    assert run.stderr == "ways: --work is 'd2l_lenet'; need MODEL:BATCH:PRECISION, such as d2l_resnet18:256:bf16\n", run.stderr


def a_profile_has_the_launches_of_the_work():
    run = subprocess.run([ROOT / "tests/gpu/profile", "d2l_lenet:4:bf16"], capture_output=True, text=True,
                         env=os.environ | {"TROIKA": os.environ["TROIKA_TOOL"]})
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("== d2l_lenet:4:bf16\n"), run.stdout
    for launch in ("conv2d conv2  cuda:", "conv2d_weight_gradient conv2  cuda:", "sum; a step without a trace takes "):
        assert launch in run.stdout, run.stdout


def a_profile_refuses_a_wrong_work_in_a_line():
    run = subprocess.run([ROOT / "tests/gpu/profile", "d2l_lenet"], capture_output=True, text=True,
                         env=os.environ | {"TROIKA": os.environ["TROIKA_TOOL"]})
    assert run.returncode == 1, run
    assert run.stderr == "profile: 'd2l_lenet' is no work; need MODEL:BATCH:PRECISION, such as d2l_resnet18:256:bf16\n", run.stderr


def each_pass_is_left_out_in_turn():
    run = subprocess.run([ROOT / "tests/gpu/changes", "--work", "mlp:4:f32", "--rounds", "1", "--windows", "1", "--seconds", "250"],
                         capture_output=True, text=True, env=os.environ | {"TROIKA": os.environ["TROIKA_TOOL"]})
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.match(r"\n== mlp:4:f32: [\d.]+ ms per step, 1 rounds\n", run.stdout), run.stdout
    forms = re.findall(r"^ +[+-][\d.]+ us +[+-][\d.]+ %  without (.*)$", run.stdout, re.M)
    assert {"fuse_loss", "fuse_relus", "keep_copies", "own kernels"} <= set(forms) and len(forms) == 17, forms


def programs_of_all_parts_are_built():
    run = subprocess.run([sys.executable, ROOT / "tests/gpu/run_parts.py", "--programs"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    paths = run.stdout.split()
    assert len(paths) > 10 and "tests/backends/cuda/hopper_tests" in paths, paths
    folder = pathlib.Path(os.environ["TROIKA_TOOL"]).parent
    missing = [path for path in paths if not (folder / path).exists()]
    assert missing in ([], ["tests/backends/cuda/hopper_tests"]), missing  # a build for other GPUs has none for Hopper


def main():
    failed = False
    for test in (every_way_of_lenet_has_a_time, a_proof_and_a_kernel_that_was_struck_out_are_read,
                 a_wrong_work_is_refused_in_a_line, a_profile_has_the_launches_of_the_work,
                 a_profile_refuses_a_wrong_work_in_a_line, each_pass_is_left_out_in_turn, programs_of_all_parts_are_built):
        try:
            test()
            print(f"ok {test.__name__}")
        except AssertionError as error:
            failed = True
            print(f"  {error}\nnot ok {test.__name__}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
