// NCCL, opened at run time: the functions that are used, and the meaning of their failures.
#pragma once

#include <nccl.h>

#include <string>

namespace troika::nccl {

constexpr int kBuiltVersion[] = {NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH};

// The functions of libnccl.so.2 that this room calls. Another package of the process may have
// opened an older library first, so each function is looked up, and the version is checked.
struct Library {
  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRankConfig) init_rank;
  decltype(&ncclCommGetAsyncError) get_async_error;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclReduce) reduce;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  std::string path, version;

  // DEVICE_UNAVAILABLE with path and versions if the library is missing or too old.
  static const Library& get();

  // COMM with `what` if `result` is neither success nor in progress.
  void check(ncclResult_t result, const std::string& what) const;
};

}  // namespace troika::nccl
