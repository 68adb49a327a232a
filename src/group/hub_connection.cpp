// Trying, and proving both sides.
#include "group/hub_connection.h"

#include <poll.h>

#include <algorithm>
#include <climits>
#include <thread>

#include "core/error.h"
#include "core/file_system.h"
#include "core/text.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A hub that makes room for others, or ends, closes a connection as one that has another secret.
constexpr int kMostRefusals = 5;
constexpr milliseconds kFirstPause{10}, kLongestPause{250};  // between two tries

int milliseconds_to(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

// Returns whether both sides have proven that they know the secret.
bool prove(Connection& connection, Deadline deadline) {
  bool is_connected = false;
  while (!connection.is_open() && !connection.has_ended()) {
    pollfd end = {connection.socket().get(), POLLIN, 0};
    if (!is_connected || connection.wants_to_send()) end.events |= POLLOUT;
    if (poll(&end, 1, milliseconds_to(deadline)) == 0) {
      connection.end("does not answer");
      break;
    }
    if (!is_connected) {
      if (const int error = connection.socket().error()) connection.end("failed: " + system_error_text(error));
      is_connected = true;
    }
    connection.flush();
    connection.read([](std::string&&) {});
  }
  return connection.is_open();
}

}  // namespace

std::unique_ptr<Connection> connect_to_hub(const Rendezvous& rendezvous, const Secret& secret, Deadline deadline) {
  std::string reason = "it does not answer";
  int refusals = 0;  // in a row
  for (milliseconds pause = kFirstPause; steady_clock::now() < deadline; pause = std::min(2 * pause, kLongestPause)) {
    try {
      auto connection = std::make_unique<Connection>(Socket::connect(rendezvous.find(), "connecting"),
                                                     Connection::Side::client, secret);
      if (prove(*connection, deadline)) return connection;
      refusals = connection->is_proving() ? refusals + 1 : 0;
      reason = "it " + connection->reason();
    } catch (const Error& e) {  // the hub need not listen yet
      if (e.status() != Status::comm) throw;
      reason = e.what();
    }
    if (refusals == kMostRefusals)
      throw Error(Status::comm, text("group: rank 0 at ", rendezvous.name(),
                                     " refused this process: it has another secret, or this process has none"));
    std::this_thread::sleep_for(std::min<steady_clock::duration>(pause, deadline - steady_clock::now()));
  }
  throw Error(Status::comm, text("group: rank 0 at ", rendezvous.name(), " cannot be reached before the deadline"
                                 " (connect_timeout_ms): ", reason));
}

}  // namespace troika
