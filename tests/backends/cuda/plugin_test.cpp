// Tests of loading the plug-in on a machine without an NVIDIA driver.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "device/plugin.h"
#include "support/temp_directory.h"
#include "support/test_context.h"

namespace troika {
namespace {

bool has_driver() { return dlopen("libcuda.so.1", RTLD_LAZY) != nullptr; }

TEST(CudaPlugin, LoadsWithoutADriverAndSaysThatThereIsNone) {
  if (has_driver()) GTEST_SKIP() << "this machine has an NVIDIA driver";
  const LoadedBackend loaded = load_backend("cuda", test_backends());
  EXPECT_EQ(loaded.backend, nullptr);
  const std::string& reason = loaded.reason;
  EXPECT_NE(reason.find("libtroika_cuda.so: there is no NVIDIA driver: libcuda.so.1 was not found by the loader"),
            std::string::npos)
      << reason;
  EXPECT_TRUE(loaded.versions.starts_with("1.1.0, commit ")) << loaded.versions;
  for (const char* library : {"CUDA ", "cuDNN ", "cuBLASLt ", "NCCL "})
    EXPECT_NE(loaded.versions.find(library), std::string::npos) << loaded.versions;
}

TEST(CudaPlugin, MakesItsDevicesAnswerWithTheReason) {
  if (has_driver()) GTEST_SKIP() << "this machine has an NVIDIA driver";
  const auto registry = BackendRegistry::create(test_backends());
  EXPECT_EQ(registry->device_count(DeviceKind::cuda), 0);
  try {
    registry->open({DeviceKind::cuda, 0}, {});
    FAIL() << "a GPU without a driver";
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), Status::device_unavailable);
    EXPECT_NE(std::string(e.what()).find("device cuda:0 is not usable: plug-in "), std::string::npos) << e.what();
  }
}

TEST(Plugin, ThatIsNotThereIsLookedForInPlacesThatAreNamed) {
  const std::string reason = load_backend("abacus", {}).reason;
  EXPECT_NE(reason.find("there is no plug-in libtroika_abacus.so in "), std::string::npos) << reason;
  EXPECT_NE(reason.find("/troika-1"), std::string::npos) << reason;
}

TEST(Plugin, ThatIsNoLibraryIsRefusedWithWhatTheLoaderSaid) {
  const TempDirectory folder;
  std::filesystem::copy_file("/etc/passwd", folder.path() / "libtroika_text.so");
  const std::string reason = load_backend("text", {{}, folder.path(), {}}).reason;
  EXPECT_NE(reason.find("libtroika_text.so does not load: "), std::string::npos) << reason;
}

}  // namespace
}  // namespace troika
