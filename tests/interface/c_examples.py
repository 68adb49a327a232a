"""Compiles and runs examples in C: fragments of headers and pages, each in a function with the declarations before it."""

import os
import pathlib
import re
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import run  # pylint: disable=wrong-import-position

CC = shlex.split(os.environ.get("CC", "cc"))
STRICT = ("-std=c99", "-pedantic", "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types")

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
  {tail}
  }}
  return error.status == 0 ? 0 : 1;
}}
"""


def checked(text):
    """Returns an example in which each call's status is checked. `_destroy` has none."""
    statements = re.split(r"(?<=;)\n", text.rstrip("\n") + "\n")
    return "\n".join(re.sub(r"^(troika_\w+(?<!_destroy)\(.*\));$", r"CALL(\1);", statement, flags=re.S) for statement in statements)


def run_fragment(text, setup, folder, library, include, tail=""):
    """Compiles and runs a fragment after `setup`. Every call of the fragment must succeed; then `tail` runs."""
    folder, library = pathlib.Path(folder), pathlib.Path(library)
    source = folder / "example.c"
    source.write_text(PROGRAM.format(setup=setup, example=checked(text), tail=tail), encoding="utf-8")
    run(*CC, *STRICT, f"-I{include}", source, "-o", folder / "example", library, f"-Wl,-rpath,{library.parent}")
    return run(folder / "example", cwd=folder)
