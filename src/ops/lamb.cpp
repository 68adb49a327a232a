// lamb: layer-wise adaptive moments (You et al. 2020), for large batches. For update number t = 1,
// 2, ..., with 2-norms of whole parameters:
//
//     m = beta1 * m + (1 - beta1) * gradient;
//     v = beta2 * v + (1 - beta2) * gradient^2;
//     r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * p
//     p = p - learning_rate * ratio * r, with the ratio |p| / |r|, and 1 if |p| or |r| is 0
//
// Parameters with one axis (biases, BatchNorm) have ratio 1 and no weight decay.
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {
namespace {

constexpr size_t kOwnSettings = 3;

}  // namespace

// Changes m and v. Norms: |p|^2 and |r|^2.
const OpDef lamb_moments_op{.name = "lamb_moments",
                            .infer = [](const OpInputs& in) { return check_norms(in, kOwnSettings); },
                            .mutates = {update::first_parameter},
                            .traits = UpdateOp{}};
// Reads m and v after lamb_moments. Without norms the op changes m and v itself.
const OpDef lamb_update_op{.name = "lamb_update",
                           .infer = [](const OpInputs& in) { return check_update(in, kOwnSettings); },
                           .mutates = {update::first_parameter},
                           .traits = UpdateOp{}};

const OptimizerDef lamb_optimizer{.name = "lamb",
                                  .update = lamb_update_op,
                                  .norms = &lamb_moments_op,
                                  .settings = {{Setting::beta1, 0.9}, {Setting::beta2, 0.999}, {Setting::eps, 1e-6}},
                                  .slots = {{"mean"}, {"square"}},
                                  .counts_updates = true};

}  // namespace troika
