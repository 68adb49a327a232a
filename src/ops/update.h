// Operands of the ops that update parameters, and of the ops that compute norms for such an update.
#pragma once

#include "ops/op_def.h"

namespace troika {

// Inputs. The host feeds `settings` f32 [rows, columns]; ops/optimizer.h lists the columns. The
// next four inputs may be none:
// - `factor` f32 [1]: gradients are multiplied by it;
// - `is_finite` i32 [1]: if it is 0, nothing may change;
// - `count` i64 [rows]: the number of updates, including this one;
// - `norms` f32 [2 * n].
//
// Then, for each parameter: the parameter f32, its gradient f32, bf16 or f16, its copy bf16 or
// f16 if there are copies, and its slots f32, all of one shape. The node writes the parameter to
// the copy, too.
//
// Attributes. row: the row of the settings. slots: slots per parameter. copies: absent by default.
// skips_decay: the weight decay is 0. places, with norms: for each parameter, the place of its two
// numbers in `norms`.
namespace update {
enum Input : size_t { settings, factor, is_finite, count, norms, first_parameter };
enum Column : size_t { learning_rate, weight_decay, first_own };  // of the settings
}  // namespace update

// The places of the operands of such a node.
class UpdateOperands {
 public:
  explicit UpdateOperands(const Node& node);

  size_t parameters() const { return parameters_; }
  size_t slots() const { return slots_; }
  bool has_copies() const { return copies_ > 0; }
  size_t parameter(size_t k) const { return update::first_parameter + k * each(); }  // an index of inputs
  size_t gradient(size_t k) const { return parameter(k) + 1; }
  size_t copy(size_t k) const { return parameter(k) + 2; }
  size_t slot(size_t k, size_t s) const { return parameter(k) + 2 + copies_ + s; }
  size_t each() const { return 2 + copies_ + slots_; }  // operands of a parameter

 private:
  size_t slots_, copies_, parameters_;
};

// The shape rule of an update with so many settings of its own. It has no outputs.
std::vector<TensorType> check_update(const OpInputs& in, size_t own_settings);

// The shape rule of norms. `norms` has the norms that other nodes have computed so far, or is none.
// Output: f32 [2 * total], `norms` or 0 with this node's numbers at their places. Attribute: total.
std::vector<TensorType> check_norms(const OpInputs& in, size_t own_settings);

}  // namespace troika
