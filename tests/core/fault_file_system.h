// A file system whose k-th call fails, ends the process, or transfers less than requested.
#pragma once

#ifndef _WIN32
#include <signal.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/file_system.h"

namespace troika::test {

enum class Fault {
  none,
  fail,            // the call does nothing and fails
  fail_from_here,  // so do all later calls, except unlink and close: the disk is gone
  die,             // the process is killed before the call
  die_halfway,     // a write writes half of its bytes, then the process is killed; other calls: after the call
};

class FaultFileSystem : public FileSystem {
 public:
  FaultFileSystem() = default;
  FaultFileSystem(Fault fault, size_t at, int error) : fault_(fault), at_(at), error_(error) {}

  size_t largest_transfer = SIZE_MAX;  // per read or write
  bool interrupts = false;             // the first try of each call fails with EINTR
  int allocate_error = 0;              // the result of every allocate

  const std::vector<std::string>& calls() const { return calls_; }

  int open(int directory, const char* name, Opening opening, mode_t mode) const override {
    return run("open", [&] { return FileSystem::open(directory, name, opening, mode); });
  }
  ssize_t pread(int file, void* data, size_t size, uint64_t offset) const override {
    return run("pread", [&] { return FileSystem::pread(file, data, std::min(size, largest_transfer), offset); });
  }
  ssize_t write(int file, const void* data, size_t size) const override {
    if (fault_ == Fault::die_halfway && calls_.size() == at_) size /= 2;
    return run("write", [&] { return FileSystem::write(file, data, std::min(size, largest_transfer)); });
  }
  int allocate(int file, uint64_t size) const override {
    return run("allocate", [&] {
      errno = allocate_error;
      return allocate_error != 0 ? -1 : FileSystem::allocate(file, size);
    });
  }
  int chmod(int file, mode_t mode) const override {
    return run("chmod", [&] { return FileSystem::chmod(file, mode); });
  }
  int fsync(int file) const override {
    return run("fsync", [&] { return FileSystem::fsync(file); });
  }
  int close(int file) const override {
    // Even a failing close releases the descriptor.
    const int result = FileSystem::close(file);
    return run("close", [&] { return result; });
  }
  int rename(int directory, const char* from, const char* to) const override {
    return run("rename", [&] { return FileSystem::rename(directory, from, to); });
  }
  int unlink(int directory, const char* name) const override {
    return run("unlink", [&] { return FileSystem::unlink(directory, name); });
  }

 private:
  template <typename Call>
  auto run(const std::string& name, Call&& call) const -> decltype(call()) {
    const bool retries = name == "open" || name == "pread" || name == "write" || name == "allocate";
    if (interrupts && retries && !std::exchange(interrupted_, true)) {
      errno = EINTR;
      return -1;
    }
    interrupted_ = false;
    const size_t index = calls_.size();
    calls_.push_back(name);
    if (fault_ == Fault::die && index == at_) end_process();
    const bool cleans_up = name == "unlink" || name == "close";
    if ((fault_ == Fault::fail && index == at_) ||
        (fault_ == Fault::fail_from_here && index >= at_ && (index == at_ || !cleans_up))) {
      errno = error_;
      return -1;
    }
    const auto result = call();
    if (fault_ == Fault::die_halfway && index == at_) end_process();
    return result;
  }

  static void end_process() {
#ifdef _WIN32
    std::abort();
#else
    ::kill(::getpid(), SIGKILL);
#endif
  }

  Fault fault_ = Fault::none;
  size_t at_ = 0;
  int error_ = 0;
  mutable bool interrupted_ = false;
  mutable std::vector<std::string> calls_;
};

}  // namespace troika::test
