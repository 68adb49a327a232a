// adagrad: Duchi, Hazan and Singer 2011, as torch.optim.Adagrad defines it, without decay of the
// learning rate and with sums that begin at 0.
//
//     g = gradient + weight_decay * p
//     s = s + g^2
//     p = p - learning_rate * g / (sqrt(s) + eps)
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {

const OpDef adagrad_update_op{.name = "adagrad_update",
                              .infer = [](const OpInputs& in) { return check_update(in, 1); },
                              .mutates = {update::first_parameter},
                              .traits = UpdateOp{}};

const OptimizerDef adagrad_optimizer{
    .name = "adagrad", .update = adagrad_update_op, .settings = {{Setting::eps, 1e-10}}, .slots = {{"square"}}};

}  // namespace troika
