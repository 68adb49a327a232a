// A training step in pieces: forward, backward and update as separate calls, for hosts that do
// something in between.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/attachment.h"
#include "train/stepper.h"

namespace troika {

struct ForwardOptions {
  bool has_own_loss = false;        // the caller passes the gradient of the output
  bool has_input_gradient = false;  // the backward pass also computes the gradient of the inputs
  double weight = 1;                // of the loss, in the gradients

  StepForm form() const { return {StepForm::passes, has_own_loss, has_input_gradient, weight != 1}; }
};

// Holds what is between the pieces: a forward pass, sums of gradients, the gradient of the inputs.
class Pieces {
 public:
  // All must outlive it.
  Pieces(Attachment& attached, Stepper& stepper, const Model& model)
      : attached_(attached), stepper_(stepper), model_(model) {}

  // Plans for the batch are prepared. `output`, if not null, receives the network's output. Without
  // `wants_results` the result has no loss.
  StepResult forward(const BatchView& view, const BatchOrigin* origin, const ForwardOptions& options,
                     bool wants_results, float* output);
  // `gradient` is null, or has the type. INVALID_ARGUMENT unless it is what the forward pass needs,
  // NOT_INITIALIZED if there is no forward pass.
  void check_backward(const TensorType& type, const float* gradient) const;
  // They are checked. On an error before the run nothing has changed.
  void backward(const TensorType& type, const float* gradient);
  // Plans of the update are prepared.
  StepResult update(bool wants_results);

  // NOT_INITIALIZED unless there are gradients since the last update. `piece` is the caller, for
  // messages.
  void require_gradients(const char* piece) const;
  // Replaces a gradient, which has the loss scale. The devices get it when they need it: if memory
  // runs out on one of them, none goes on without it.
  void set_gradient(const std::string& name, std::vector<float> values) { set_[name] = std::move(values); }
  void upload_gradients();
  // Row-major, in the shape of the batch's inputs. NOT_INITIALIZED if there is none.
  const std::vector<float>& input_gradient() const;
  // A step begins, or a state was restored: the gradients are no longer those of passes.
  void forget();

 private:
  Attachment& attached_;
  Stepper& stepper_;
  const Model& model_;
  int64_t samples_ = 0;  // of the last forward pass, as its options and its batch's origin
  int64_t rows_ = 0, first_ = 0;  // of them, that this process has
  ForwardOptions options_;
  std::optional<BatchOrigin> origin_;
  std::map<std::string, std::vector<float>> set_;  // gradients that the devices lack
  int64_t passes_ = 0;                             // backward passes since the last update
  std::optional<BatchOrigin> trained_;             // of the last of them
  std::vector<float> input_gradient_;              // of the last of them; empty: none
};

}  // namespace troika
