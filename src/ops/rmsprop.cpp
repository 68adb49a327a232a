// rmsprop: Tieleman and Hinton 2012, as torch.optim.RMSprop defines it, not centered.
//
//     g = gradient + weight_decay * p
//     v = alpha * v + (1 - alpha) * g^2
//     m = momentum * m + g / (sqrt(v) + eps)                    (without the slot, momentum is 0)
//     p = p - learning_rate * m
#include "ops/optimizer.h"
#include "ops/update.h"

namespace troika {

const OpDef rmsprop_update_op{.name = "rmsprop_update",
                              .infer = [](const OpInputs& in) { return check_update(in, 3); },
                              .mutates = {update::first_parameter},
                              .traits = UpdateOp{}};

const OptimizerDef rmsprop_optimizer{.name = "rmsprop",
                                     .update = rmsprop_update_op,
                                     .settings = {{Setting::alpha, 0.99}, {Setting::eps, 1e-8}, {Setting::momentum, 0}},
                                     .slots = {{"square"}, {"momentum", Setting::momentum}}};

}  // namespace troika
