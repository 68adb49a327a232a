// The data that a host passes to its callbacks.
#pragma once

#include <troika/export.h>

namespace troika::api {

// The data of a callback. The callback holds it, so the data ends with its last copy.
struct UserData {
  explicit UserData(void* d) : data(d) {}
  ~UserData() {
    if (!destroy) return;
    try {
      destroy(data);
    } catch (...) {  // no call could return it
    }
  }
  UserData(const UserData&) = delete;
  UserData& operator=(const UserData&) = delete;
  void* const data;
  troika_destroy_function destroy = nullptr;  // set last: if a call fails, the data is the caller's
};

}  // namespace troika::api
