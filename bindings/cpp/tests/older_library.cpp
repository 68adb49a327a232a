// A program whose library says that it is older than the headers.
#include <troika/context.hpp>

#include <cstdio>

extern "C" std::int32_t troika_version() { return TROIKA_VERSION - 100; }

int main() {
  try {
    const troika::Context context;
  } catch (const troika::Error& error) {
    std::printf("%s: %s\n", troika::status_name(error.status()), error.what());
  }
}
