// Opening NCCL.
#include "comm/nccl/nccl_library.h"

#include <dlfcn.h>

#include "core/error.h"
#include "core/text.h"

namespace troika::nccl {
namespace {

constexpr int kLeast = 21800;  // 2.18: what ncclConfig_t and non-blocking communicators need

std::string version_text(int v) { return text(v / 10000, '.', v / 100 % 100, '.', v % 100); }

Library open() {
  void* handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* said = dlerror();
    throw Error(Status::device_unavailable,
                text("several GPUs need NCCL: ", said ? said : "libnccl.so.2 does not load"));
  }
  Library library{};
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (!function)
      throw Error(Status::device_unavailable, text("NCCL at ", library.path, " has no function ", name, ", need ",
                                                   version_text(kLeast), " or later"));
  };
  find(library.get_version, "ncclGetVersion");
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(library.get_version), &info) && info.dli_fname) library.path = info.dli_fname;
  int version = 0;
  library.get_version(&version);
  library.version = version_text(version);
  if (version < kLeast)
    throw Error(Status::device_unavailable, text("NCCL at ", library.path, " is of version ", library.version,
                                                 ", need ", version_text(kLeast), " or later"));
  find(library.get_unique_id, "ncclGetUniqueId");
  find(library.init_rank, "ncclCommInitRankConfig");
  find(library.get_async_error, "ncclCommGetAsyncError");
  find(library.abort, "ncclCommAbort");
  find(library.all_reduce, "ncclAllReduce");
  find(library.broadcast, "ncclBroadcast");
  find(library.reduce, "ncclReduce");
  find(library.group_start, "ncclGroupStart");
  find(library.group_end, "ncclGroupEnd");
  find(library.error_string, "ncclGetErrorString");
  find(library.last_error, "ncclGetLastError");
  return library;
}

}  // namespace

const Library& Library::get() {
  static const Library library = open();  // after an exception the next call tries again
  return library;
}

void Library::check(ncclResult_t result, const std::string& what) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const said = last_error(nullptr);
  std::string detail = said ? said : "";
  for (char& c : detail)
    if (c == '\n' || c == '\r') c = ' ';
  throw Error(Status::comm,
              text(what, ": NCCL ", version, ": ", error_string(result), detail.empty() ? "" : ": ", detail));
}

}  // namespace troika::nccl
