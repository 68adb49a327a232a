// sgd: stochastic gradient descent as torch.optim.SGD defines it, without dampening.
//
//     g = gradient + weight_decay * p
//     m = momentum * m + g;  g = nesterov ? g + momentum * m : m  (without the slot, momentum is 0)
//     p = p - learning_rate * g
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {

// Every parameter and its slots change. A gradient does not change, but nothing reads it afterwards
// either.
const OpDef sgd_update_op{.name = "sgd_update",
                          .infer = [](const OpInputs& in) { return check_update(in, 2); },
                          .mutates = {update::first_parameter},
                          .traits = UpdateOp{}};

const OptimizerDef sgd_optimizer{.name = "sgd",
                                 .update = sgd_update_op,
                                 .settings = {{Setting::momentum, 0}, {Setting::nesterov, 0}},
                                 .slots = {{"momentum", Setting::momentum}}};

}  // namespace troika
