#!/usr/bin/env python3
"""Tests the Rust binding with the system's compiler: rust_test.py [TEST...]

Builds into build/bindings/rust. Prints one line per test: `ok NAME`, `skip NAME reason` or `not ok NAME reason`.
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from languages import BINDINGS, BUILD, FASHION_MNIST, compare_losses, lines_of, linked, program_in
from scripts import Skipped, main, need, run

sys.path.insert(0, str(BINDINGS))
from generator import rust  # pylint: disable=wrong-import-position
from generator.interface import Interface  # pylint: disable=wrong-import-position

RUST = BINDINGS / "rust"
TARGET = BUILD / "bindings" / "rust"
MSRV = "1.63"
# The program around the piece of the README about weights.
WEIGHTS = """use troika::{Context, Dataset, Device, Loader, LoaderOptions, Model, Result, TrainerOptions};

fn main() -> Result<()> {
    let context = Context::new(&Default::default())?;
    let dataset = Dataset::create_synthetic(&context, &[1, 28, 28], 64, 10, 0)?;
    let mut model = Model::new(&context, "d2l_lenet", &Default::default())?;
    PIECE
    let weight = loader.next_batch()?.unwrap().weights()?[0];
    println!("shares {:?} weight {weight}", trainer.get_options()?.shares);
    Ok(())
}
"""


def environment(**more):
    """The system's compiler, no network, and the library of the build folder. Less debug information saves time."""
    return {**linked(), "PATH": f"/usr/bin:{os.environ['PATH']}", "CARGO_NET_OFFLINE": "true",
            "CARGO_TARGET_DIR": str(TARGET), "CARGO_TERM_COLOR": "never", "CARGO_PROFILE_DEV_DEBUG": "1", **more}


def need_cargo():
    if not pathlib.Path("/usr/bin/cargo").exists():
        raise Skipped("there is no /usr/bin/cargo")


def cargo(*arguments, folder=RUST, expect=0, **more):
    need_cargo()
    return run("/usr/bin/cargo", *arguments, cwd=folder, expect=expect, env=environment(**more))


def passed(output):
    """The number of tests that passed; at least one test must have run."""
    results = re.findall(r"test result: ok\. (\d+) passed; 0 failed", output)
    assert results and "warning: " not in output, output
    return sum(map(int, results))


def hand_written():
    """The code of the layer that is written by hand, without comments."""
    files = [path for path in (RUST / "troika" / "src").glob("*.rs") if path.name != "structs.rs"]
    return {path.name: re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")) for path in files}


def callers():
    """Tests, examples and programs that use the safe crate, with the examples in its comments."""
    paths = [*(RUST / "troika" / "tests").rglob("*.rs"), *(RUST / "troika" / "examples").glob("*.rs"), RUST / "README.md",
             RUST / "bench" / "src" / "main.rs"]
    texts = {str(path.relative_to(RUST)): path.read_text(encoding="utf-8") for path in paths}
    for path in (RUST / "troika" / "src").glob("*.rs"):
        lines = re.findall(r"^\s*//[/!] ?(.*)$", path.read_text(encoding="utf-8"), flags=re.M)
        texts[f"comments of {path.name}"] = "\n".join(re.findall(r"```.*?```", "\n".join(lines), flags=re.S))
    return texts


def test_layout(_folder):
    structs = json.loads((BINDINGS / "interface" / "interface.json").read_text(encoding="utf-8"))["structs"]
    assert passed(cargo("test", "-p", "troika-sys", "--test", "layout")) == len(structs)


def test_versions(_folder):
    """The crates have the version of the interface, and the oldest compiler is the one of these tests."""
    version = Interface().version
    for crate in ("troika-sys", "troika"):
        manifest = (RUST / crate / "Cargo.toml").read_text(encoding="utf-8")
        assert f'\nversion = "{version}"' in manifest and f'rust-version = "{MSRV}"' in manifest, manifest
    need_cargo()
    assert run("/usr/bin/rustc", "--version").startswith(f"rustc {MSRV}.")


def test_unset_fields(_folder):
    """The generator's lists of fields that have no default are those that the library leaves unset."""
    interface = Interface()
    library = ctypes.CDLL(str(BUILD / "libtroika.so"))
    formats = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "double": ctypes.c_double}
    for struct in interface.structs:
        if not struct.init or not struct.is_input or struct.name in rust.BY_HAND:
            continue
        memory = ctypes.create_string_buffer(struct.size)
        getattr(library, struct.init)(memory, struct.size)
        unset = set()
        for field in struct.fields:
            kind = formats.get(interface.aliases.get(field.element or field.type, field.element or field.type))
            if kind and kind.from_buffer(memory, field.offset).value == -2**31:
                unset.add(field.name)
        texts = {field.name for field in struct.fields if field.kind == "text"}
        optional = {field.name for field in struct.fields if field.none == "TROIKA_UNSET"}
        known = optional | rust.REQUIRED.get(struct.name, set()) - texts
        assert unset == known, f"{struct.name}: the library leaves {sorted(unset)} unset, the generator has {sorted(known)}"


def test_build_script(folder):
    """The library is found by TROIKA_LIB_DIR, pkg-config or the linker; else the build ends with one line."""
    for part in ("build.rs", "Cargo.toml", "src"):
        source, target = RUST / "troika-sys" / part, folder / part
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    nowhere = {"PKG_CONFIG_PATH": str(folder), "LIBRARY_PATH": "", "CARGO_TARGET_DIR": str(folder / "target")}

    def build(expect, **settings):
        output = cargo("build", "-vv", folder=folder, expect=expect, **{**nowhere, **settings})
        return [line.removeprefix("error: ") for line in re.findall(r"^ *(error: .*|.*cargo:rustc-link.*)$", output, flags=re.M)]

    flags = "\n".join(build(0, TROIKA_LIB_DIR=str(BUILD)))
    assert f"rustc-link-search=native={BUILD}" in flags and "rustc-link-lib=troika" in flags, flags
    flags = "\n".join(build(0, PKG_CONFIG_PATH=linked()["PKG_CONFIG_PATH"]))
    assert f"rustc-link-search=native={BUILD}" in flags and "rustc-link-lib=troika" in flags, flags
    flags = "\n".join(build(0, LIBRARY_PATH=str(BUILD)))
    assert "rustc-link-search" not in flags and "rustc-link-lib=troika" in flags, flags
    errors = [line for line in build(101, TROIKA_LIB_DIR=str(folder)) if "libtroika" in line]
    assert errors == [f"TROIKA_LIB_DIR is '{folder}', which has no libtroika"], errors
    if subprocess.run(["cc", "-shared", "-o", folder / "probe", "-ltroika"], check=False, capture_output=True).returncode:
        errors = [line for line in build(101) if "libtroika" in line]
        assert len(errors) == 1 and "pkg-config does not know troika" in errors[0], errors


def test_crate(_folder):
    """Unit tests, tests of the interface, and the examples in the comments: also code that must not compile."""
    output = cargo("test", "-p", "troika", "--lib", "--tests")
    assert passed(output) > 80, output
    examples = cargo("test", "-p", "troika", "--doc")
    assert passed(examples) >= 7 and "compile fail ... ok" in examples, examples


def test_leaks(_folder):
    assert passed(cargo("test", "-p", "troika", "--test", "interface", "--", "--ignored", "memory_stays_flat")) == 1


def test_memory_errors(_folder):
    """Valgrind watches one object and one closure of each kind."""
    need("valgrind")
    output = cargo("test", "-p", "troika", "--test", "interface", "--no-run", "--message-format=json")
    artifacts = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    program = next(artifact["executable"] for artifact in artifacts if artifact.get("executable"))
    # Valgrind cannot follow the code that oneDNN writes for newer processors.
    output = run("valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect",
                 "--errors-for-leak-kinds=definite,indirect", program, "--test-threads=1", "--exact",
                 "leaks::closures_are_dropped_once", "callbacks::a_source_that_panics",
                 env=environment(DNNL_MAX_CPU_ISA="SSE41", OMP_NUM_THREADS="1"))
    assert passed(output) == 2, output


def build_program(folder, name, program):
    """Compiles a program in a crate of its own."""
    (folder / "src").mkdir()
    (folder / "src" / "main.rs").write_text(program, encoding="utf-8")
    (folder / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "0.0.0"\nedition = "2021"\n\n'
                                       f'[dependencies]\ntroika = {{ path = "{RUST / "troika"}" }}\n', encoding="utf-8")
    cargo("build", folder=folder)
    return TARGET / "debug" / name


def test_readme(folder):
    """The program of the README has at most 25 lines, and the losses of the tool. A new process predicts."""
    program = program_in(RUST / "README.md", "rust")
    count = len(lines_of(program))
    assert count <= 25, f"the program has {count} lines"
    executable = build_program(folder, "troika-readme", program)
    if not FASHION_MNIST.is_dir():
        raise Skipped(f"there is no {FASHION_MNIST}")
    compare_losses(run(executable, cwd=folder, env=environment()))
    assert (folder / "state.safetensors").stat().st_size > (folder / "weights.safetensors").stat().st_size > 0
    predicted = run(executable, "predict", cwd=folder, env=environment())
    assert re.fullmatch(r"class [579]\n", predicted), predicted  # shoes


def test_weights_of_readme(folder):
    """The piece of the README about weights, uneven parts and augmentation runs with the options that it sets."""
    piece = program_in(RUST / "README.md", "rust", 1)
    output = run(build_program(folder, "troika-readme-weights", WEIGHTS.replace("PIECE", piece)), env=environment())
    assert re.fullmatch(r"loss \d+\.\d+\nshares \[3\.0, 1\.0\] weight 4\n", output), output


def test_spirals(_folder):
    cargo("build", "-p", "troika", "--example", "spirals")
    example = TARGET / "debug" / "examples" / "spirals"
    output = run(example, "--epochs", "20", "--devices", "cpu:0,cpu:1", env=environment())
    assert float(output.split("accuracy ")[1]) > 0.95, output
    assert output.count("epoch") == 20, output
    for wrong, message in ((["--lr", "1"], "'--lr' is unknown"), (["--devices", "tpu"], "device 'tpu'"), (["--epochs", "x"], "")):
        output = run(example, *wrong, expect=1, env=environment())
        assert output.startswith("Error: ") and message in output and output.count("\n") == 1, output


def test_bench(_folder):
    output = cargo("run", "--quiet", "-p", "troika-bench", "--", "64")
    assert re.fullmatch(r"call ns [\d.]+\nepoch images/s \d+\nsteps images/s \d+\n", output), output


def test_documentation(_folder):
    output = cargo("doc", "--no-deps", RUSTDOCFLAGS="-D warnings")
    assert "warning" not in output, output
    page = (TARGET / "doc" / "troika" / "struct.Trainer.html").read_text(encoding="utf-8")
    assert "train_epoch" in page and "Sync" in page


def test_style(_folder):
    """The code is as rustfmt and clippy want it. They belong to the newest compiler, if there is one."""
    for tool in ("cargo-clippy", "cargo-fmt"):
        need(tool)
    if subprocess.run(["cargo", "clippy", "--version"], check=False, capture_output=True).returncode:
        raise Skipped("there is no clippy")
    run("cargo", "fmt", "--all", "--check", cwd=RUST)
    settings = {**linked(), "CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": f"{TARGET}-clippy"}
    run("cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings", cwd=RUST, env=settings)


def test_completeness(_folder):
    """The safe crate calls every function of the interface; the `_init` functions from generated code."""
    code = "\n".join(hand_written().values())
    generated = "\n".join(path.read_text(encoding="utf-8") for path in (RUST / "troika" / "src" / "structs").glob("*.rs"))
    names = [function["name"] for function in Interface().functions]
    missing = [name for name in names if not re.search(rf"\b{name}\b", generated if name.endswith("_init") else code)
               and not re.search(rf"\b{name}\b", code)]
    assert len(names) > 150 and not missing, f"functions that the crate does not use: {missing}"


def test_every_method_is_called(_folder):
    """Each public function is called by a test, an example or the README."""
    texts = "\n".join(callers().values())
    names = set()
    for name, code in hand_written().items():
        tested = code.split("#[cfg(test)]")[-1] if "#[cfg(test)]" in code else ""
        texts += tested
        names |= {(name, function) for function in re.findall(r"^\s*pub (?:const |unsafe )*fn (\w+)", code, flags=re.M)}
    missing = sorted(f"{name}: {function}" for name, function in names if not re.search(rf"(?:\.|::){function}\b", texts))
    assert len(names) > 130 and not missing, f"functions without a caller: {missing}"


def test_no_unsafe_code(_folder):
    """Hosts need no unsafe code: there is none in the README, the examples, the tests and the benchmark."""
    found = [name for name, text in callers().items() if re.search(r"\bunsafe\b", re.sub(r"//[^\n]*", "", text))]
    assert not found, f"unsafe code in {found}"


def test_the_layer_never_prints(_folder):
    found = [name for name, code in hand_written().items() if re.search(r"\b(?:e?print(?:ln)?|dbg|todo|unimplemented)!", code)]
    assert not found, f"output from {found}"


if __name__ == "__main__":
    main(globals())
