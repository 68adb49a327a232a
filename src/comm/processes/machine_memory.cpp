// The proof that processes reach each other's memory, and the map.
#include "comm/processes/machine_memory.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "core/error.h"
#include "core/packed.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr size_t kProof = 4096;  // bytes of the block that proves it: a page
using Proof = std::array<uint32_t, 4>;

}  // namespace

std::string pack(const SharedPlace& place) {
  Packer message;
  for (int64_t number : {place.process, place.file, place.block, place.offset, place.bytes}) message.number(number);
  return message.bytes();
}

SharedPlace unpack_place(const std::string& bytes) {
  Unpacker message(bytes);
  SharedPlace place;
  for (int64_t* number : {&place.process, &place.file, &place.block, &place.offset, &place.bytes})
    *number = message.number();
  return place;
}

std::unique_ptr<SharedMemory> try_shared_memory(size_t bytes) {
  try {
    return std::make_unique<SharedMemory>(bytes);
  } catch (const std::exception&) {  // the system has none, or a limit is reached
    return nullptr;
  }
}

// A process may be in a container with other numbers of processes, or may not be allowed to map. So
// each process shows random numbers, which the others look for.
MachineMemory::MachineMemory(Exchange& exchange, std::vector<int> nodes, Deadline deadline) : nodes_(std::move(nodes)) {
  const std::unique_ptr<SharedMemory> own = try_shared_memory(kProof);
  std::string offer;
  if (own) {
    std::random_device random;
    Proof proof;
    std::generate(proof.begin(), proof.end(), std::ref(random));
    std::memcpy(own->data(), proof.data(), sizeof proof);
    offer = Packer().text(pack(own->place())).text({reinterpret_cast<const char*>(proof.data()), sizeof proof}).bytes();
  }
  const std::vector<std::string> offers = exchange.all_gather("the memory of a machine", offer, deadline);
  const auto own_rank = static_cast<size_t>(exchange.rank());
  bool reaches_all = own != nullptr;
  for (size_t process = 0; process < offers.size() && reaches_all; ++process) {
    if (process == own_rank || nodes_[process] != nodes_[own_rank]) continue;
    try {
      Unpacker message(offers[process]);
      const SharedPlace place = unpack_place(message.text());
      const std::string proof = message.text();
      const ForeignMemory found(place, 0, kProof);
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

std::byte* ForeignBlocks::address(int process, const SharedPlace& place) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ForeignMemory>& block = blocks_[{process, place.block}];
  try {
    if (!block) block = std::make_unique<ForeignMemory>(place, 0, static_cast<size_t>(place.bytes));
  } catch (const Error& e) {
    throw Error(Status::comm, text("process ", process, " does not share its memory any more: ", e.what()));
  }
  return block->data() + place.offset;
}

}  // namespace troika
