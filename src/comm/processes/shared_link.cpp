// The end of a link.
#include "comm/processes/shared_link.h"

#include "core/text.h"

namespace troika {
namespace {

constexpr std::chrono::seconds kTimeToEnd{10};

}  // namespace

SharedLink::SharedLink(std::shared_ptr<Exchange> exchange, std::unique_ptr<Link> link, const char* end)
    : exchange_(std::move(exchange)), link_(std::move(link)), end_(end) {
  exchange_->on_failure([this](const std::string& reason) { fail(reason); });
}

SharedLink::~SharedLink() {
  exchange_->on_failure(nullptr);
  if (is_aborted_) return;
  try {
    exchange_->all_gather(end_, "", std::chrono::steady_clock::now() + kTimeToEnd);
  } catch (const std::exception&) {  // another process is lost, or keeps its trainer
  }
}

// Every caller waits until the others have been told: its host may end the process next.
void SharedLink::abort(const std::string& reason) noexcept {
  fail(reason);
  exchange_->abort(reason);
}

void SharedLink::fail(const std::string& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (is_aborted_) return;
    store_reason(reason_, reason);
    is_aborted_ = true;
  }
  link_->abort(reason);
}

std::string SharedLink::failure() const {
  if (!is_aborted_) return "";
  const std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace troika
