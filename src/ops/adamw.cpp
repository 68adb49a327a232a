// adamw: Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW
// defines it. For update number t = 1, 2, ...:
//
//     p = p - learning_rate * weight_decay * p
//     m = beta1 * m + (1 - beta1) * gradient;  v = beta2 * v + (1 - beta2) * gradient^2
//     p = p - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {

const OpDef adamw_update_op{.name = "adamw_update",
                            .infer = [](const OpInputs& in) { return check_update(in, 3); },
                            .mutates = {update::first_parameter},
                            .traits = UpdateOp{}};

const OptimizerDef adamw_optimizer{.name = "adamw",
                                   .update = adamw_update_op,
                                   .settings = {{Setting::beta1, 0.9}, {Setting::beta2, 0.999}, {Setting::eps, 1e-8}},
                                   .slots = {{"mean"}, {"square"}},
                                   .counts_updates = true};

}  // namespace troika
