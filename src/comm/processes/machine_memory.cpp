// The proof that processes reach each other's memory.
#include "comm/processes/machine_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>

#include "core/error.h"
#include "core/packed.h"
#include "core/shared_memory.h"

namespace troika {
namespace {

constexpr size_t kProof = 4096;  // bytes of the block that proves it: a page
using Proof = std::array<uint32_t, 4>;

}  // namespace

// A process may be in a container with other numbers of processes, or may not be allowed to map.
// Two machines may be taken for one, with the same numbers of files. So each process shows random
// numbers, which the others look for.
MachineMemory::MachineMemory(Exchange& exchange, std::vector<int> nodes, Deadline deadline) : nodes_(std::move(nodes)) {
  const std::unique_ptr<SharedMemory> own = SharedMemory::try_create(kProof);
  std::string offer;
  if (own) {
    std::random_device random;
    Proof proof;
    std::generate(proof.begin(), proof.end(), std::ref(random));
    std::memcpy(own->data(), proof.data(), sizeof proof);
    offer =
        Packer().text(own->place().encode()).text({reinterpret_cast<const char*>(proof.data()), sizeof proof}).bytes();
  }
  const std::vector<std::string> offers = exchange.all_gather("the memory of a machine", offer, deadline);
  const auto own_rank = static_cast<size_t>(exchange.rank());
  bool reaches_all = own != nullptr;
  for (size_t process = 0; process < offers.size() && reaches_all; ++process) {
    if (process == own_rank || nodes_[process] != nodes_[own_rank]) continue;
    try {
      Unpacker message(offers[process]);
      const ForeignMemory found(SharedPlace::decode(message.text()));
      const std::string proof = message.text();
      reaches_all = proof.size() == sizeof(Proof) && std::memcmp(found.data(), proof.data(), sizeof(Proof)) == 0;
    } catch (const Error&) {
      reaches_all = false;
    }
  }
  for (const std::string& answer :
       exchange.all_gather("who reaches the memory of a machine", reaches_all ? "yes" : "no", deadline))
    reach_their_machine_.push_back(answer == "yes");
}

bool MachineMemory::reaches(const std::vector<int>& processes) const {
  return std::all_of(processes.begin(), processes.end(), [&](int process) {
    return reach_their_machine_[static_cast<size_t>(process)] &&
           nodes_[static_cast<size_t>(process)] == nodes_[static_cast<size_t>(processes.front())];
  });
}

}  // namespace troika
