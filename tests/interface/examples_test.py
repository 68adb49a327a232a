#!/usr/bin/env python3
"""Compiles and runs every example in the headers' comments: examples_test.py LIBTROIKA SOURCE_ROOT

An example is a run of comment lines that are indented by four more spaces and end with a semicolon.
SETUPS has the declarations and calls that come before it. Every call of an example must succeed.
Prints one line per test: `ok NAME` or `not ok NAME reason`.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
SOURCE_ROOT = pathlib.Path(sys.argv[2]).resolve()
INCLUDE = SOURCE_ROOT / "include"
CC = shlex.split(os.environ.get("CC", "cc"))

CONTEXT = "troika_context context = NULL; CALL(troika_context_create(NULL, &context, &error));"
ZOO = CONTEXT + 'troika_model model = NULL; CALL(troika_model_create(context, "d2l_lenet", NULL, &model, &error));'
EMPTY = CONTEXT + "troika_model model = NULL; troika_value x = 0;"
STEP = CONTEXT + """
  troika_model model = NULL;
  troika_value x = 0;
  const int64_t dims[] = {6}, input_dims[] = {4, 6}, label_dims[] = {4};
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  troika_trainer trainer = NULL;
  troika_tensor inputs = NULL, labels = NULL;
  troika_batch batch = NULL;
  CALL(troika_model_create_empty(context, "small", &model, &error));
  CALL(troika_model_add_input(model, "x", dims, 1, &x, &error));
  CALL(troika_model_add_linear(model, "fc", x, 3, 1, &x, &error));
  CALL(troika_model_set_output(model, x, &error));
  CALL(troika_model_attach(model, &cpu, 1, NULL, &trainer, &error));
  CALL(troika_tensor_create(context, cpu, TROIKA_DTYPE_F32, input_dims, 2, NULL, &inputs, &error));
  CALL(troika_tensor_create(context, cpu, TROIKA_DTYPE_I32, label_dims, 1, NULL, &labels, &error));
  CALL(troika_batch_create(inputs, labels, &batch, &error));
"""
# By the first function of the library that an example calls.
SETUPS = {
    "troika_context_create": "",
    "troika_dataset_create_from": CONTEXT + """
        static uint8_t pixels[60000 * 4]; static int64_t labels[60000]; const int64_t dims[] = {1, 2, 2};
        troika_dataset dataset = NULL;""",
    "troika_dataset_create_token_stream": CONTEXT + """
        char text[1000] = {0}; const int64_t length = sizeof text; troika_dataset dataset = NULL;""",
    "troika_dataset_split": CONTEXT + """
        const int64_t dims[] = {1}; troika_dataset dataset = NULL;
        CALL(troika_dataset_create_synthetic(context, dims, 1, 60000, 10, 1, &dataset, &error));""",
    "troika_group_all_reduce": CONTEXT + """
        troika_group group = NULL; CALL(troika_group_create(context, NULL, &group, &error));
        const troika_device device = {TROIKA_DEVICE_CPU, 0}; const int64_t dims[] = {4}; troika_tensor tensor = NULL;
        CALL(troika_tensor_create(context, device, TROIKA_DTYPE_F32, dims, 1, NULL, &tensor, &error));""",
    "troika_group_create": CONTEXT,
    "troika_model_add_input": EMPTY + 'CALL(troika_model_create_empty(context, "sequence", &model, &error));',
    "troika_model_attach": STEP + "troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;",
    "troika_model_create_empty": EMPTY,
    "troika_model_describe": ZOO,
    "troika_plan_choose": ZOO + """
        troika_plan_options options = TROIKA_PLAN_OPTIONS_INIT; troika_plan_result plan = TROIKA_PLAN_RESULT_INIT;
        troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;""",
    "troika_plan_estimate": ZOO,
    "troika_trainer_forward": STEP + """
        const float gradient[18] = {0}; const int64_t bytes = sizeof gradient; troika_tensor output = NULL;
        troika_step_result result = TROIKA_STEP_RESULT_INIT;""",
    "troika_trainer_save_with": STEP,
    "troika_zoo_name": "",
}
PROGRAM = """#include <stdio.h>
#include <string.h>
#include <troika/troika.h>
#define CALL(call) \\
  do {{ \\
    if ((call) < 0) {{ printf("%s: %s\\n", #call, error.message); return 1; }} \\
  }} while (0)
int main(void) {{
  troika_error error = {{0, ""}};
  {setup}
  {{
{example}
  }}
  return error.status == 0 ? 0 : 1;
}}
"""


def run(*command, **settings):
    finished = subprocess.run([str(part) for part in command], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, check=False, **settings)
    assert finished.returncode == 0, f"{shlex.join(map(str, command))}: exit status {finished.returncode}: {finished.stdout}"


def examples_in(text):
    """Yields the examples of a header, as lists of lines. Formulas have no semicolon."""
    block = []
    for line in [*text.splitlines(), ""]:
        match = re.match(r" \*     (.*)", line)
        if match:
            block.append(re.sub(r"\s*//.*", "", match[1]))
        elif block:
            if block[-1].endswith(";"):
                yield block
            block = []


def checked(lines):
    """Returns an example in which each call's status is checked."""
    statements = re.split(r"(?<=;)\n", "\n".join(lines) + "\n")
    return "\n".join(re.sub(r"^(troika_\w+\(.*\));$", r"CALL(\1);", statement, flags=re.S) for statement in statements)


def test_example(lines, folder):
    called = re.search(r"\b(troika_\w+)\(", "\n".join(lines))[1]
    assert called in SETUPS, f"examples_test.py has no setup for an example of {called}"
    (folder / "run").mkdir()
    (folder / "example.c").write_text(PROGRAM.format(setup=SETUPS[called], example=checked(lines)), encoding="utf-8")
    run(*CC, "-std=c99", "-pedantic", f"-I{INCLUDE}", "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types",
        folder / "example.c", "-o", folder / "example", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
    run(folder / "example", cwd=folder)


def main():
    failed, count = False, 0
    for header in sorted((INCLUDE / "troika").glob("*.h")):
        for number, lines in enumerate(examples_in(header.read_text(encoding="utf-8")), 1):
            count += 1
            name = f"{header.stem}_example_{number}"
            with tempfile.TemporaryDirectory(prefix="troika-examples-") as folder:
                try:
                    test_example(lines, pathlib.Path(folder))
                    print(f"ok {name}", flush=True)
                except Exception as error:  # pylint: disable=broad-except
                    failed = True
                    print(f"not ok {name} {' '.join(str(error).split())}", flush=True)
    if count < 10:
        failed = True
        print(f"not ok examples only {count} examples found in the headers")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
