// Writing under another name first, so that nobody reads a part.
#include "nccl_wire.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "core/text.h"

namespace emulated_gpu::nccl {
namespace {

using troika::text;
namespace fs = std::filesystem;

// The elements of a rank's buffers: of the larger one.
size_t bytes_of_buffers(const Operation& o) { return o.count * bytes_of(o.type); }

}  // namespace

void Wire::write(const fs::path& path, const std::string& line, const void* data, size_t bytes) const {
  const fs::path part = path.string() + ".part";
  {
    std::ofstream file(part, std::ios::binary);
    file << line << '\n';
    if (bytes > 0) file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  }
  fs::rename(part, path);
}

void Wire::join(int size, const std::string& gpu) const {
  fs::create_directories(folder_);
  write(folder_ / text("joined-", rank_), text(size, ' ', gpu), nullptr, 0);
}

bool Wire::have_joined(int size, std::string& fault) const {
  std::set<std::string> gpus;
  for (int rank = 0; rank < size; ++rank) {
    std::ifstream file(folder_ / text("joined-", rank));
    int other_size = 0;
    std::string gpu;
    if (!(file >> other_size >> gpu)) return false;
    if (other_size != size) fault = text("rank ", rank_, " joins ", size, " ranks, rank ", rank, ' ', other_size);
    if (!gpus.insert(gpu).second) fault = text("Duplicate GPU detected : ", gpu);
  }
  return true;
}

fs::path Wire::file_of(const MeetingKey& key, size_t index) const {
  const auto& [from, to, turn] = key;
  return folder_ / text(from, '_', to, '_', turn, '_', index);
}

void Wire::send(const MeetingKey& key, size_t index, const Operation& o) const {
  const bool reads = o.kind != Kind::receive && (o.kind != Kind::broadcast || o.root == rank_);
  write(file_of(key, index), describe(o), o.in, reads ? bytes_of_buffers(o) : 0);
}

bool Wire::receive(const MeetingKey& key, size_t index, Operation& operation, std::string& description,
                   std::vector<std::byte>& data) const {
  std::ifstream file(file_of(key, index), std::ios::binary);
  if (!std::getline(file, description)) return false;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string all = bytes.str();
  const size_t room = bytes_of_buffers(operation);
  data.resize(2 * room);  // what the rank reads, and what it writes
  std::copy_n(reinterpret_cast<const std::byte*>(all.data()), std::min(all.size(), room), data.data());
  operation.in = data.data();
  operation.out = data.data() + room;
  return true;
}

void Wire::forget(const MeetingKey& key, size_t index) const {
  std::error_code ignored;
  fs::remove(file_of(key, index), ignored);
}

}  // namespace emulated_gpu::nccl
