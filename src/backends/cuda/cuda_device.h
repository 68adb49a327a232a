// One replica on a GPU: a stream, library handles, staging memory for copies, and the choice of
// kernels.
#pragma once

#include <memory>

#include "backends/cuda/cublaslt_handle.h"
#include "backends/cuda/cudnn_handle.h"
#include "backends/cuda/staging.h"
#include "backends/cuda/stream.h"
#include "device/backend.h"

namespace troika::cuda {

class PlanCache;

class CudaDevice : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  // Tag of a device for planning only, for machines without a GPU: kernels are chosen and named,
  // and nothing can run.
  struct PlanOnly {};

  // Without own kernels, those that must prove themselves (fastest_way.h) are left out.
  CudaDevice(int index, std::shared_ptr<PlanCache> plans, const BackendSettings& settings);
  CudaDevice(int index, PlanOnly);
  ~CudaDevice() override;

  DeviceId id() const override { return {DeviceKind::cuda, index_}; }
  Buffer allocate(size_t bytes, const std::string& purpose) override;
  void copy_from_host(void* destination, const void* source, size_t bytes) override;
  void copy_to_host(void* destination, const void* source, size_t bytes) override;
  void finish() override;
  void synchronize() override;
  void copy(void* destination, const void* source, size_t bytes) override;
  void enter_thread() override;
  int borrow_thread() override;
  void return_thread(int earlier) override;
  std::unique_ptr<Readback> create_readback(size_t capacity) override;
  bool runs_ahead() const override { return true; }
  size_t room_for_samples() const override;
  bool can_record() const override { return true; }
  std::unique_ptr<Recording> record(const LaunchOrder& order, const std::function<void(size_t)>& launch) override;
  std::unique_ptr<LaunchClock> create_clock(size_t steps) override;
  int64_t rows_of_sums(const Graph& graph, const Node& node) const override;
  bool fuses_loss(const Graph& graph, const Node& linear) const override;
  bool has_relu_mask(const Graph& graph, const Node& node) const override;
  bool normalizes_input(const Graph& graph, const Node& conv2d) const override;
  bool adds_without_gaps(const Graph& graph, const Node& node, int64_t stride) const override;
  bool fuses_pool(const Graph& graph, const Node& conv2d, const Node& pool) const override;
  bool keeps_copies() const override { return true; }
  bool rounds_gradient(const Graph& graph, const Node& node, std::vector<LogLine>& notes) override;
  KernelChoice select(const KernelRequest& request) override;
  KernelChoice select_reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to) override;

  bool is_plan_only() const { return !context_; }
  cudaStream_t stream() const { return stream_.get(); }
  cudnnHandle_t cudnn() const { return cudnn_.get(); }
  cublasLtHandle_t cublas() const { return cublas_.get(); }
  const std::shared_ptr<PlanCache>& plans() const { return plans_; }
  int multiprocessors() const { return multiprocessors_; }
  size_t shared_bytes() const { return static_cast<size_t>(shared_bytes_); }  // that a block may have
  bool has_own_kernels() const { return has_own_kernels_; }
  bool compares_ways() const { return compares_ways_; }
  bool is_hopper() const { return is_hopper_; }  // of compute capability 9.0
  const ContextPtr& context() const { return context_; }

 private:
  const int index_;
  const bool has_own_kernels_ = true, compares_ways_ = false;
  const ContextPtr context_;  // null: plan only
  std::shared_ptr<PlanCache> plans_;
  // Those that use the stream end before it.
  Stream stream_;
  CudnnHandle cudnn_;
  CublasLtHandle cublas_;
  // An H100's, if there is no GPU to ask.
  int multiprocessors_ = 132, shared_bytes_ = 227 << 10;
  bool is_hopper_ = true;
  bool starts_early_ = false;  // kernels may start before those before them end: from compute capability 9.0 on
  std::unique_ptr<Staging> staging_;
};

}  // namespace troika::cuda
