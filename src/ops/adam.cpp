// adam: Kingma and Ba 2015, as torch.optim.Adam defines it. For update number t = 1, 2, ...:
//
//     g = gradient + weight_decay * p
//     m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2
//     p = p - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {

const OpDef adam_update_op{.name = "adam_update",
                           .infer = [](const OpInputs& in) { return check_update(in, 3); },
                           .mutates = {update::first_parameter},
                           .traits = UpdateOp{}};

const OptimizerDef adam_optimizer{.name = "adam",
                                  .update = adam_update_op,
                                  .settings = {{Setting::beta1, 0.9}, {Setting::beta2, 0.999}, {Setting::eps, 1e-8}},
                                  .slots = {{"mean"}, {"square"}},
                                  .counts_updates = true};

}  // namespace troika
