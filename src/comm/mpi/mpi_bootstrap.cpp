// Rank 0's message in a buffer of a fixed size.
#include "comm/mpi/mpi_bootstrap.h"

#include <algorithm>
#include <array>
#include <vector>

#include "comm/mpi/mpi_runtime.h"
#include "core/error.h"
#include "core/text.h"

namespace troika::mpi {
namespace {

constexpr size_t kMostMessageBytes = 1024;

// Waits for a collective of all processes, which may write into `buffer` as long as it is not done.
template <typename Buffer>
void finish(MPI_Request request, std::unique_ptr<Buffer>& buffer, const char* late, Deadline deadline) {
  if (wait(request, deadline)) return;
  static_cast<void>(buffer.release());  // MPI may still write into it
  forget_end();
  throw Error(Status::comm, text("group: rendezvous mpi://: ", late, " before the deadline (connect_timeout_ms)"));
}

class MpiBootstrap : public Bootstrap {
 public:
  MpiBootstrap(const Processes& all, Deadline deadline) : all_(all) {
    using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
    auto names = std::make_unique<std::vector<Name>>(static_cast<size_t>(all_.size) + 1);
    int length = 0;
    Name& own = names->back();
    check(MPI_Get_processor_name(own.data(), &length), "MPI_Get_processor_name");
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgather(own.data(), own.size(), MPI_BYTE, names->data(), own.size(), MPI_BYTE, all_.communicator,
                         &request),
          "MPI_Iallgather");
    finish(request, names, "another process did not come", deadline);
    is_one_machine_ = std::all_of(names->begin(), names->end(), [&](const Name& name) { return name == own; });
  }

  int rank() const override { return all_.rank; }
  int size() const override { return all_.size; }
  bool is_one_machine() const override { return is_one_machine_; }

  std::string broadcast(const std::string& message, Deadline deadline) override {
    if (message.size() > kMostMessageBytes)
      throw Error(Status::internal,
                  text("mpi: a message has ", message.size(), " bytes, need at most ", kMostMessageBytes));
    auto bytes = std::make_unique<std::array<char, kMostMessageBytes + 1>>();
    message.copy(bytes->data(), message.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(bytes->data(), static_cast<int>(bytes->size()), MPI_BYTE, 0, all_.communicator, &request),
          "MPI_Ibcast");
    finish(request, bytes, "rank 0 did not say its address", deadline);
    return bytes->data();
  }

 private:
  const Processes& all_;
  bool is_one_machine_ = false;
};

}  // namespace

std::unique_ptr<Bootstrap> create_bootstrap(Deadline deadline) {
  return std::make_unique<MpiBootstrap>(processes(deadline), deadline);
}

}  // namespace troika::mpi
