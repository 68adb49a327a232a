#!/usr/bin/env python3
"""Compiles and runs every example in the headers' comments: examples_test.py LIBTROIKA SOURCE_ROOT

An example is a run of comment lines that are indented by four more spaces and end with a semicolon.
SETUPS has the declarations and calls that come before it. Every call of an example must succeed.
Prints one line per test: `ok NAME` or `not ok NAME reason`.
"""

import pathlib
import re
import sys

from c_examples import CONTEXT, EMPTY, STEP, ZOO, run_fragment
from scripts import run_tests

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
SOURCE_ROOT = pathlib.Path(sys.argv[2]).resolve()
INCLUDE = SOURCE_ROOT / "include"

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
    "troika_gradients_create": CONTEXT + """
        const troika_device cpu = {TROIKA_DEVICE_CPU, 0}; const int64_t x_dims[] = {3, 2}, w_dims[] = {2, 1};
        troika_gradients record = NULL; troika_tensor x = NULL, w = NULL, y = NULL, loss = NULL, dw = NULL;
        CALL(troika_tensor_full(context, cpu, TROIKA_DTYPE_F32, x_dims, 2, 1, &x, &error));
        CALL(troika_tensor_full(context, cpu, TROIKA_DTYPE_F32, w_dims, 2, 1, &w, &error));""",
    "troika_group_all_reduce": CONTEXT + """
        troika_group group = NULL; CALL(troika_group_create(context, NULL, &group, &error));
        const troika_device device = {TROIKA_DEVICE_CPU, 0}; const int64_t dims[] = {4}; troika_tensor tensor = NULL;
        CALL(troika_tensor_create(context, device, TROIKA_DTYPE_F32, dims, 1, NULL, &tensor, &error));""",
    "troika_group_create": CONTEXT,
    "troika_model_add_embedding": EMPTY + """
        const int64_t steps[] = {20}; CALL(troika_model_create_empty(context, "shared", &model, &error));
        CALL(troika_model_add_typed_input(model, "x", TROIKA_DTYPE_I32, steps, 1, &x, &error));""",
    "troika_model_add_input": EMPTY + 'CALL(troika_model_create_empty(context, "sequence", &model, &error));',
    "troika_model_attach": STEP + "troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;",
    "troika_model_create_empty": EMPTY,
    "troika_model_describe": ZOO,
    "troika_plan_choose": ZOO + """
        troika_plan_options options = TROIKA_PLAN_OPTIONS_INIT; troika_plan_result plan = TROIKA_PLAN_RESULT_INIT;
        troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;""",
    "troika_plan_estimate": ZOO,
    "troika_scores_compute": """
        static float outputs[40]; static int32_t labels[4]; const int64_t n = 4;
        troika_scores scores = TROIKA_SCORES_INIT;""",
    "troika_trainer_forward": STEP + """
        const float gradient[18] = {0}; const int64_t bytes = sizeof gradient; troika_tensor output = NULL;
        troika_step_result result = TROIKA_STEP_RESULT_INIT;""",
    "troika_trainer_save_with": STEP,
    "troika_zoo_name": "",
}


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


def test_example(lines, folder):
    called = re.search(r"\b(troika_\w+)\(", "\n".join(lines))[1]
    assert called in SETUPS, f"examples_test.py has no setup for an example of {called}"
    (folder / "run").mkdir()
    run_fragment("\n".join(lines), SETUPS[called], folder, LIBRARY, INCLUDE)


def main():
    tests = {}
    for header in sorted((INCLUDE / "troika").glob("*.h")):
        for number, lines in enumerate(examples_in(header.read_text(encoding="utf-8")), 1):
            tests[f"{header.stem}_example_{number}"] = lambda folder, lines=lines: test_example(lines, folder)
    assert len(tests) >= 10, f"only {len(tests)} examples found in the headers"
    run_tests(tests)


if __name__ == "__main__":
    main()
