// A step, spread over the ranks of a mesh: the part of the model that each rank holds, and the plan
// that each compiles.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parallel/rank_map.h"
#include "plan/compile.h"
#include "plan/state_table.h"
#include "plan/step_spec.h"

namespace troika {

// The part of the model that one rank holds: the layers of its position in the pipeline, and its
// channels of these layers. Without such splits there is one part, the whole model.
struct ModelPart {
  std::vector<std::string> state;      // parameters and buffers, in the model's order
  std::vector<std::string> trainable;  // those that are trained, in the model's order
  std::vector<Bucket> buckets;
  std::vector<UpdateGroup> update_groups;  // parameters with equal settings, within one bucket
  std::map<std::string, int> owners;       // with a sharded optimizer: the share whose rank updates a parameter
};

// Immutable. Trainer and planner ask it the same questions, so that a plan describes the run that
// is started.
class StepLayout {
 public:
  enum class Purpose { training, inference };

  // Refuses what cannot work before any device is asked: INVALID_ARGUMENT, UNSUPPORTED, NOT_FOUND.
  // Messages name options after `options_name`, such as "troika_model_attach: options.". The model
  // must outlive the layout.
  StepLayout(const Graph& model, StepSpec spec, int devices, const std::string& options_name,
             Purpose purpose = Purpose::training);

  const StepSpec& spec() const { return spec_; }
  const RankMap& ranks() const { return ranks_; }
  const LayerStages* stages() const { return stages_ ? &*stages_ : nullptr; }
  const std::vector<std::string>& trainable() const { return trainable_; }  // in the model's order
  const ModelPart& part(int part) const { return parts_[static_cast<size_t>(part)]; }
  bool shards_optimizer() const;

  // ---- state ----
  const StateSlice& slice_of(const std::string& name, int part) const;
  std::vector<int> holders_of(const std::string& name) const;  // parts with the parameter or buffer, or a slice of it
  TensorType type_of(const std::string& name, int part) const;
  StateTable make_state_table(int part) const;  // its layouts are undecided

  // ---- a batch of `n` samples ----
  const ShareSizes& share_sizes() const { return share_sizes_; }
  // `is_alone`: the rank computes the whole batch, and no other rank takes part.
  Range samples_of(Mode mode, int64_t n, int rank, bool is_alone = false) const;
  std::vector<MicroBatch> micro_batches(int64_t n, int rank) const;  // of training
  CompileRequest request(Mode mode, int64_t n, int rank, bool is_alone = false) const;

 private:
  int row_of(const std::string& name) const;  // of the settings of a parameter
  bool is_frozen(const std::string& name) const;
  UpdateGroup settings_of(const std::string& name) const;  // without parameters

  void check_mesh(const std::string& options_name);
  void check_combinations(const std::string& options_name) const;
  void check_groups() const;
  void find_trainable();
  ModelPart make_part(int part) const;
  std::vector<UpdateGroup> groups_of(int rank) const;
  std::vector<std::string> split_norms_of(int part) const;
  CountedGradients counted_gradients_of(int rank) const;
  BatchResults results_of(Mode mode, int64_t n, int rank) const;

  const Graph& model_;
  StepSpec spec_;
  const Purpose purpose_;
  RankMap ranks_;
  ShareSizes share_sizes_;
  std::optional<LayerStages> stages_;          // none: each rank has all layers
  std::optional<ChannelSplit> channel_split_;  // none: each rank has all channels
  std::map<std::string, const Value*> state_;  // parameters and buffers, by name
  std::vector<std::string> trainable_;
  std::vector<ModelPart> parts_;
};

}  // namespace troika
