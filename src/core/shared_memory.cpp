// Files in memory, and their maps.
#include "core/shared_memory.h"

#include <map>
#include <mutex>

#include "core/error.h"
#include "core/packed.h"
#include "core/text.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#endif

namespace troika {

std::string SharedPlace::encode() const {
  Packer message;
  for (int64_t number : {process, file, block, offset, bytes}) message.number(number);
  return message.bytes();
}

SharedPlace SharedPlace::decode(const std::string& message) {
  Unpacker numbers(message);
  SharedPlace place;
  for (int64_t* number : {&place.process, &place.file, &place.block, &place.offset, &place.bytes})
    *number = numbers.number();
  return place;
}

std::unique_ptr<SharedMemory> SharedMemory::try_create(size_t bytes) {
  try {
    return std::make_unique<SharedMemory>(bytes);
  } catch (const std::exception&) {  // the system has none, or a limit is reached
    return nullptr;
  }
}

#ifdef __linux__

namespace {

// Blocks by address. Never destroyed: a block may end after all globals.
struct Blocks {
  std::mutex mutex;
  std::map<const std::byte*, const SharedMemory*> by_address;

  static Blocks& get() {
    static Blocks& blocks = *new Blocks;
    return blocks;
  }
};

// Memory that shrinks would end the processes that have mapped it.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void throw_lack(size_t bytes, const char* reason) {
  throw Error(Status::out_of_memory, text("memory that processes share: ", bytes, " bytes: ", reason));
}

// The system ends a process that makes a larger file than its limit allows (ulimit -f).
void require_room(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    throw_lack(bytes, "the process's limit of file sizes (ulimit -f) is smaller");
}

// Whether a file is the block, and not another file of the same number in a process of the same
// number.
bool is_block(int file, const SharedPlace& place) {
  struct stat status = {};
  return fcntl(file, F_GET_SEALS) == kSeals && fstat(file, &status) == 0 &&
         static_cast<int64_t>(status.st_ino) == place.block && status.st_size == place.bytes;
}

std::byte* map_file(int file, size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_DONTFORK);  // a child would write into its parent's memory
  return static_cast<std::byte*>(memory);
}

}  // namespace

SharedMemory::SharedMemory(size_t bytes) : bytes_(bytes) {
  try {
    require_room(bytes);
    file_ = memfd_create("troika", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stat status = {};
    if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes)) == 0 && fcntl(file_, F_ADD_SEALS, kSeals) == 0 &&
        fstat(file_, &status) == 0)
      data_ = map_file(file_, bytes);
    if (!data_) throw_lack(bytes, std::strerror(errno));
    block_ = static_cast<int64_t>(status.st_ino);
    Blocks& blocks = Blocks::get();
    const std::lock_guard lock(blocks.mutex);
    blocks.by_address[data_] = this;
  } catch (...) {
    if (data_) munmap(data_, bytes_);
    if (file_ >= 0) close(file_);
    throw;
  }
}

SharedMemory::~SharedMemory() {
  {
    Blocks& blocks = Blocks::get();
    const std::lock_guard lock(blocks.mutex);
    blocks.by_address.erase(data_);
  }
  munmap(data_, bytes_);
  close(file_);
}

SharedPlace SharedMemory::place() const { return {getpid(), file_, block_, 0, static_cast<int64_t>(bytes_)}; }

std::optional<SharedPlace> SharedMemory::find(const void* address) {
  Blocks& blocks = Blocks::get();
  const auto* const byte = static_cast<const std::byte*>(address);
  const std::lock_guard lock(blocks.mutex);
  auto found = blocks.by_address.upper_bound(byte);
  if (found == blocks.by_address.begin()) return std::nullopt;
  const SharedMemory& memory = *(--found)->second;
  if (byte >= memory.data_ + memory.bytes_) return std::nullopt;
  SharedPlace place = memory.place();
  place.offset = byte - memory.data_;
  return place;
}

ForeignMemory::ForeignMemory(const SharedPlace& place) : bytes_(static_cast<size_t>(place.bytes)) {
  const std::string path = text("/proc/", place.process, "/fd/", place.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const char* reason = file < 0 ? std::strerror(errno) : "another file has the place of the block";
  if (file >= 0 && is_block(file, place) && !(data_ = map_file(file, bytes_))) reason = std::strerror(errno);
  if (file >= 0) close(file);
  if (!data_) throw Error(Status::comm, text("memory of the system's process ", place.process, ": ", reason));
}

ForeignMemory::~ForeignMemory() { munmap(data_, bytes_); }

#else

SharedMemory::SharedMemory(size_t bytes) : bytes_(bytes) {
  throw Error(Status::unsupported, "memory that processes share: this system has none");
}
SharedMemory::~SharedMemory() = default;
SharedPlace SharedMemory::place() const { return {}; }
std::optional<SharedPlace> SharedMemory::find(const void*) { return std::nullopt; }
ForeignMemory::ForeignMemory(const SharedPlace&) : bytes_(0) {
  throw Error(Status::unsupported, "memory that processes share: this system has none");
}
ForeignMemory::~ForeignMemory() = default;

#endif

}  // namespace troika
