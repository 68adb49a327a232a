// Memory, threads and kernel choice of a CPU device.
#include "backends/cpu/cpu_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/low_precision.h"
#include "backends/cpu/reorder.h"
#include "backends/cpu/threads.h"
#include "backends/kernel_list.h"
#include "core/address_space.h"
#include "core/cpu_cores.h"
#include "core/machine.h"
#include "core/shared_memory.h"
#include "core/system_memory.h"

namespace troika::cpu {

CpuDevice::CpuDevice(int index, DeviceShare share)
    : index_(index), share_(std::move(share)), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

namespace {

// Whether there is memory for a block. The system promises more than it has.
bool has_room(size_t bytes) {
  constexpr size_t kHuge = 64 << 20;
  return bytes < kHuge || bytes < static_cast<size_t>(available_memory());
}

}  // namespace

// Large blocks come from the system, zeroed and not yet in memory: an arena takes memory as a step
// first touches it. Their size stands in a page before them.
Buffer CpuDevice::allocate(size_t bytes, const std::string& purpose) {
  constexpr size_t kPage = 4096, kLarge = 1 << 20, kMost = size_t{1} << 62;
  const size_t rounded = (std::min(bytes, kMost) + kPage) / kPage * kPage;
  void* memory = nullptr;
  if (rounded < kLarge) {
    memory = ::operator new(rounded, std::align_val_t(kPage), std::nothrow);
    if (memory)
      return Buffer(static_cast<std::byte*>(std::memset(memory, 0, rounded)),
                    [](std::byte* p) { ::operator delete(p, std::align_val_t(kPage)); });
  } else if (has_room(rounded)) {
    memory = map_memory(rounded + kPage);
    if (memory) {
      *static_cast<size_t*>(memory) = rounded + kPage;
      return Buffer(static_cast<std::byte*>(memory) + kPage, [](std::byte* p) {
        if (p) unmap_memory(p - kPage, *reinterpret_cast<size_t*>(p - kPage));
      });
    }
  }
  throw Error(Status::out_of_memory,
              text("device ", id(), ": ", purpose, " needs ", bytes, " bytes, which are not free"));
}

Buffer CpuDevice::allocate_shared(size_t bytes, const std::string& purpose) {
  std::shared_ptr<SharedMemory> memory;
  if (share_.shares_memory && bytes > 0 && has_room(bytes)) memory = SharedMemory::try_create(bytes);
  if (!memory) return allocate(bytes, purpose);
  return Buffer(memory->data(), [memory](std::byte*) {});
}

void CpuDevice::copy_from_host(void* destination, const void* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
}
void CpuDevice::copy_to_host(void* destination, const void* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
}
void CpuDevice::copy(void* destination, const void* source, size_t bytes) { std::memcpy(destination, source, bytes); }
void CpuDevice::enter_thread() { enter_team(share_.threads, share_.cores); }
int CpuDevice::borrow_thread() { return borrow_team(std::max(1, share_.threads)); }
void CpuDevice::return_thread(int earlier) { return_team(earlier); }

namespace {

// A line of kernels.def for which the CPU has a kernel.
struct Entry {
  std::string_view op;
  CpuKernel kind;
  SelectKernel select;
};

// `if constexpr`: without a kernel there is no select_<op> to name.
std::vector<Entry> list_kernels() {
  std::vector<Entry> entries;
#define TROIKA_KERNEL(op, cpu, cuda) \
  if constexpr (CpuKernel::cpu != CpuKernel::none) entries.push_back({#op, CpuKernel::cpu, select_##op});
#include "backends/kernels.def"
#undef TROIKA_KERNEL
  return entries;
}

// oneDNN writes the code of its matrix products when the first of them runs, and ends the process
// if it cannot have memory for the code. So the first one runs now, when there is enough.
void run_first_product() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr dnnl_dim_t kSize = 32;
    const std::vector<float> a(kSize * kSize, 1.0f);
    std::vector<float> c(kSize * kSize);
    dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1.0f, a.data(), kSize, a.data(), kSize, 0.0f, c.data(), kSize);
  });
}

// Chooses the kernel for the calling thread's team.
KernelChoice select_here(const CpuDevice& device, const KernelRequest& request) {
  static const std::vector<Entry> kernels = list_kernels();
  const auto entry =
      std::find_if(kernels.begin(), kernels.end(), [&](const Entry& e) { return e.op == name_of(*request.node.op); });
  if (entry == kernels.end())
    throw Error(Status::unsupported,
                text(request.node.op, " '", request.node.name, "': device ", device.id(), " has no kernel for it"));
  require_address_space(kRoomOfLibraries);
  run_first_product();
  return check(text(request.node.op, " '", request.node.name, "' on ", device.id()), [&] {
    if (entry->kind == CpuKernel::low || !has_low_operand(request)) return entry->select(device, request);
    if (entry->kind == CpuKernel::bf16)
      if (auto choice = select_bf16(device, request, entry->select)) return std::move(*choice);
    return select_widened(device, request, entry->select);
  });
}

// A borrowed thread's team sleeps between two ops: work on fewer bytes takes less time than waking
// the team. The team of a worker is awake.
constexpr size_t kBytesForTeam = size_t{2} << 20;

size_t bytes_of(const KernelRequest& request) {
  size_t bytes = 0;
  for (const ValueId id : request.node.inputs)
    if (id != kNoValue) bytes += request.graph.type(id).bytes();
  for (const ValueId id : request.node.outputs) bytes += request.graph.type(id).bytes();
  return bytes;
}

// Runs a kernel with the team for which it was chosen, on a borrowed thread.
class TeamKernel : public Kernel {
 public:
  TeamKernel(std::unique_ptr<Kernel> kernel, int threads) : kernel_(std::move(kernel)), threads_(threads) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    kernel_->bind(inputs, outputs, scratch);
  }
  void run() override {
    const BorrowedTeam team(threads_);
    kernel_->run();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const int threads_;
};

}  // namespace

KernelChoice CpuDevice::select(const KernelRequest& request) {
  if (!is_borrowed()) return select_here(*this, request);
  const int threads = bytes_of(request) < kBytesForTeam ? 1 : std::max(1, share_.threads);
  const BorrowedTeam team(threads);
  KernelChoice choice = select_here(*this, request);
  if (threads > 1) choice.kernel = std::make_unique<TeamKernel>(std::move(choice.kernel), threads);
  return choice;
}

KernelChoice CpuDevice::select_reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to) {
  const auto is_onednn = [](const LayoutPtr& layout) {
    return dynamic_cast<const OnednnLayout*>(layout.get()) != nullptr;
  };
  require_address_space(kRoomOfLibraries);
  if (is_low(type.dtype) && !is_onednn(from) && !is_onednn(to)) return select_low_reorder(*this, type, from, to);
  return onednn_reorder(*this, type, from, to);
}

namespace {

class CpuBackend : public Backend {
 public:
  DeviceKind kind() const override { return DeviceKind::cpu; }

  int device_count() const override {
    constexpr int kLeast = 8;  // enough for the tutorials' lists on any machine
    return std::max(kLeast, cores());
  }

  DeviceInfo describe(int) const override {
    DeviceInfo info;
    info.name = processor_name();
    info.cores = cores();
    info.memory_bytes = total_memory();
    info.free_bytes = available_memory();
    return info;
  }

  std::shared_ptr<Device> open(int index, const DeviceShare& share) const override {
    return check(text("device cpu:", index), [&] { return std::make_shared<CpuDevice>(index, share); });
  }

 private:
  static int cores() { return static_cast<int>(allowed_cores().size()); }
};

}  // namespace

std::string library_versions() {
  const dnnl_version_t& version = *dnnl_version();
  return text("oneDNN ", version.major, '.', version.minor, '.', version.patch);
}

std::unique_ptr<Backend> create_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace troika::cpu
