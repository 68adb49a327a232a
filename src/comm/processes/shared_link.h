// The link between the processes of a world, which the ends of all its groups share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "comm/link.h"

namespace troika {

class SharedLink {
 public:
  // A failure of the exchange aborts the link. `end` names the end of the link for messages.
  SharedLink(std::shared_ptr<Exchange> exchange, std::unique_ptr<Link> link, const char* end);
  // Waits until no process needs the link, but not long: bytes on their way to another process
  // would be lost with the connection.
  ~SharedLink();

  int process() const { return exchange_->rank(); }  // this one
  int processes() const { return exchange_->size(); }
  std::unique_ptr<LinkBuffer> create_buffer(int process, void* data, size_t bytes) {
    return link_->create_buffer(process, data, bytes);
  }
  // In every process. Any thread.
  void abort(const std::string& reason) noexcept;
  // Returns why the link cannot be used any more; empty if it can. Any thread.
  std::string failure() const;

 private:
  void fail(const std::string& reason) noexcept;

  const std::shared_ptr<Exchange> exchange_;
  const std::unique_ptr<Link> link_;
  const char* const end_;
  std::atomic<bool> is_aborted_ = false;  // set when the reason is there
  mutable std::mutex mutex_;
  std::string reason_;  // guarded by the mutex
};

}  // namespace troika
