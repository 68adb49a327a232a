"""A host in C, and its project with Troika as a subproject of meson."""

PROGRAM = """
#include <stdio.h>
#include <troika/troika.h>

int main(void) {
  troika_error error;
  troika_context context;
  if (troika_context_create(NULL, &context, &error) != TROIKA_OK) return puts(error.message), 1;
  char backends[4096];
  if (troika_context_describe_backends(context, backends, sizeof backends, NULL, &error) != TROIKA_OK) return 1;
  troika_context_destroy(context);
  printf("%d\\n%s\\n", (int)troika_version(), backends);
  return 0;
}
"""


def write_host(folder):
    """Writes the project. The caller puts the source of Troika into subprojects/troika."""
    (folder / "host.c").write_text(PROGRAM, encoding="utf-8")
    (folder / "meson.build").write_text("project('host', 'c')\nexecutable('host', 'host.c', dependencies: dependency('troika'))\n",
                                        encoding="utf-8")
    (folder / "subprojects").mkdir()
    (folder / "subprojects" / "troika.wrap").write_text("[wrap-file]\ndirectory = troika\n[provide]\ndependency_names = troika\n",
                                                        encoding="utf-8")
