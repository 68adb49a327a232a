// lars: layer-wise adaptive rate scaling (You, Gitman and Ginsburg 2017), for large batches. With
// 2-norms of whole parameters:
//
//     ratio = trust * |p| / (|gradient| + weight_decay * |p| + eps), and 1 if |p| or |gradient| = 0
//     m = momentum * m + learning_rate * ratio * (gradient + weight_decay * p)
//     p = p - m
//
// Parameters with one axis (biases, BatchNorm) have ratio 1 and no weight decay.
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {
namespace {

constexpr size_t kOwnSettings = 3;

}  // namespace

// Norms: |p|^2 and |factor * gradient|^2.
const OpDef lars_norms_op{.name = "lars_norms",
                          .infer = [](const OpInputs& in) { return check_norms(in, kOwnSettings); },
                          .traits = ConditioningOp{}};
const OpDef lars_update_op{.name = "lars_update",
                           .infer = [](const OpInputs& in) { return check_update(in, kOwnSettings); },
                           .mutates = {update::first_parameter},
                           .traits = UpdateOp{}};

const OptimizerDef lars_optimizer{.name = "lars",
                                  .update = lars_update_op,
                                  .norms = &lars_norms_op,
                                  .settings = {{Setting::momentum, 0.9}, {Setting::trust, 0.001}, {Setting::eps, 1e-9}},
                                  .slots = {{"momentum"}}};

}  // namespace troika
