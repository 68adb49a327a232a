// Shared by the kernels of all optimizers: they read the numbers of a step, and visit the
// parameters of a node in pieces.
#pragma once

#include <array>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "ops/update.h"

namespace troika::cpu {

constexpr size_t kMostSlots = 2;

// The numbers that a node reads in a step.
struct UpdateStep {
  float rate, decay;
  const float* own;  // the optimizer's settings, in the order of its definition
  float factor;      // gradients are multiplied by it
  double count;      // updates, this one included

  // Returns the bias correction of a moving average: 1 - beta^count, with setting i as beta.
  double correction(size_t i) const { return 1 - std::pow(static_cast<double>(own[i]), count); }
};

// `n` neighbouring numbers of one parameter.
struct UpdatePiece {
  float* parameter;
  const float* gradient;
  std::array<float*, kMostSlots> slots;
  const float* norms;  // the parameter's two squared norms, or null
  int64_t n;
};

// LARS and LAMB: |a| / |b| from squared norms; 1 if a norm is 0 or there are none.
inline float ratio_of(const float* norms) {
  return norms && norms[0] > 0 && norms[1] > 0 ? std::sqrt(norms[0] / norms[1]) : 1.0f;
}

// The operands of an update or of norms. Gradients and slots have the layout of their parameter.
class UpdateRun {
 public:
  explicit UpdateRun(const KernelRequest& request);

  // The node's inputs in these layouts; plain outputs.
  KernelChoice choice(std::unique_ptr<Kernel> kernel, std::string name) const;

  bool is_skipped(void* const* in) const;
  UpdateStep step(void* const* in) const;

  // Calls visit(piece) for pieces that together are all parameters, from all threads of the team.
  template <typename Visit>
  void visit_pieces(void* const* in, const Visit& visit) const {
    parallel_for(starts_.back(), kGrain, [&](int64_t begin, int64_t end) {
      for (size_t k = 0; k + 1 < starts_.size(); ++k) {
        const int64_t from = std::max(begin, starts_[k]) - starts_[k], to = std::min(end, starts_[k + 1]) - starts_[k];
        if (from < to) visit_range(in, k, from, to, visit);
      }
    });
  }

  // The same, in chunks that do not depend on the number of threads: visit(piece) returns two
  // numbers of each. Adds those of a parameter in their order, and writes the sums to its places in
  // `norms`. `scratch` has scratch_bytes().
  template <typename Visit>
  void sum_pieces(void* const* in, float* norms, void* scratch, const Visit& visit) const {
    using Pair = std::array<double, 2>;
    auto* const sums = static_cast<Pair*>(scratch);
    parallel_for(static_cast<int64_t>(chunks_.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto c = static_cast<size_t>(begin); c < static_cast<size_t>(end); ++c) {
        sums[c] = {};
        visit_range(in, chunks_[c].parameter, chunks_[c].begin, chunks_[c].end, [&](const UpdatePiece& piece) {
          const Pair found = visit(piece);
          sums[c][0] += found[0];
          sums[c][1] += found[1];
        });
      }
    });
    start_norms(in, norms);
    std::vector<Pair>::size_type next = 0;
    for (size_t k = 0; k < places_.size(); ++k) {
      Pair sum{};
      for (; next < chunks_.size() && chunks_[next].parameter == k; ++next) {
        sum[0] += sums[next][0];
        sum[1] += sums[next][1];
      }
      for (int64_t i : {0, 1}) norms[2 * places_[k] + i] = static_cast<float>(sum[static_cast<size_t>(i)]);
    }
  }
  size_t scratch_bytes() const { return chunks_.size() * sizeof(std::array<double, 2>); }

 private:
  static constexpr int64_t kGrain = 16384, kWidened = 1024;
  struct Chunk {
    size_t parameter;
    int64_t begin, end;
  };

  template <typename Visit>
  void visit_range(void* const* in, size_t k, int64_t from, int64_t to, const Visit& visit) const {
    float widened[kWidened];
    const int64_t most = gradients_[k] == DType::f32 ? to - from : kWidened;
    for (int64_t begin = from; begin < to; begin += most)
      visit(piece(in, k, begin, std::min(most, to - begin), widened));
  }
  UpdatePiece piece(void* const* in, size_t k, int64_t begin, int64_t n, float* widened) const;
  void start_norms(void* const* in, float* norms) const;

  const UpdateOperands operands_;
  const size_t row_;
  const bool skips_decay_;
  std::vector<int64_t> starts_;   // of each parameter in the run of all, and the end
  std::vector<DType> gradients_;  // of each parameter
  std::vector<int64_t> places_;   // of each parameter's norms
  std::vector<Chunk> chunks_;
  std::vector<LayoutPtr> layouts_;  // of the inputs
  size_t columns_, norms_ = 0;      // numbers
};

// The kernel of an update. `begin` turns an UpdateStep into what visits each UpdatePiece.
template <typename Begin>
KernelChoice update_choice(const KernelRequest& request, std::string name, Begin begin) {
  const UpdateRun run(request);
  return run.choice(make_kernel([run, begin](void* const* in, void* const*, void*) {
                      if (!run.is_skipped(in)) run.visit_pieces(in, begin(run.step(in)));
                    }),
                    std::move(name));
}

// The kernel of norms. The result of `begin` returns the piece's two sums of squares.
template <typename Begin>
KernelChoice norms_choice(const KernelRequest& request, std::string name, Begin begin) {
  const UpdateRun run(request);
  KernelChoice choice = run.choice(make_kernel([run, begin](void* const* in, void* const* out, void* scratch) {
                                     auto* const norms = static_cast<float*>(out[0]);
                                     if (!run.is_skipped(in)) run.sum_pieces(in, norms, scratch, begin(run.step(in)));
                                   }),
                                   std::move(name));
  choice.scratch_bytes = run.scratch_bytes();
  return choice;
}

}  // namespace troika::cpu
