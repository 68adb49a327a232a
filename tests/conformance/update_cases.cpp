// Cases of what comes behind the backward pass: loss scaling, clipping, norms, rounding, updates.
#include <cmath>

#include "conformance/cases.h"

namespace troika {
namespace {

void add_sgd_update(std::vector<Case>& cases) {
  for (double momentum : {0.0, 0.9})
    for (int64_t nesterov : {0, 1})
      for (double decay : {0.0, 0.01}) {
        if (momentum == 0 && nesterov) continue;
        Case c{"sgd_update",
               {f32({3})},
               {{"group", int64_t{1}}, {"momentum", momentum}, {"nesterov", nesterov}, {"weight_decay", decay}}};
        for (const Shape& shape : std::vector<Shape>{{5}, {17, 3, 3, 2}, {300, 130}, {1}})
          for (int k = 0; k < (momentum > 0 ? 3 : 2); ++k) c.inputs.push_back(f32(shape));
        cases.push_back(c);
      }
}

// The numbers {scale, good steps}.
double draw_scale(Random& r) { return std::ldexp(1.0, static_cast<int>(r.integer(12))); }

void add_loss_scaling(std::vector<Case>& cases) {
  const TensorType scale{DType::f32, {2}}, flag{DType::i32, {1}};
  Case loss{"cross_entropy", {f32({5, 4}), TensorType{DType::i32, {5}}, scale}, {{"scale", 0.2}}};
  loss.numbers[1] = [](Random& r) { return static_cast<double>(r.integer(4)); };
  loss.numbers[2] = draw_scale;
  cases.push_back(loss);
  Case squares{"mean_squared_error", {f32({5, 4}), f32({5, 4}), scale}, {{"scale", 0.2}}};
  squares.numbers[2] = draw_scale;
  cases.push_back(squares);
  for (double bad : {0.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    Case c{"check_finite", {f32({300, 130}), f32({7}), f32({3, 2, 5, 5})}, {}};
    if (bad != 0) c.numbers[1] = [bad](Random& r) { return r.integer(3) ? bad : r.normal(); };
    cases.push_back(c);
  }
  for (double finite : {0.0, 1.0}) {
    for (int64_t interval : {1, 1000}) {
      Case c{"update_loss_scale", {scale, flag}, {{"backoff", 0.5}, {"growth", 2.0}, {"interval", interval}}};
      c.numbers = {{0, draw_scale}, {1, [finite](Random&) { return finite; }}};
      cases.push_back(c);
    }
    for (double momentum : {0.0, 0.9}) {
      Case c{"sgd_update",
             {f32({1})},
             {{"group", int64_t{0}},
              {"momentum", momentum},
              {"nesterov", int64_t{0}},
              {"scaled", int64_t{1}},
              {"weight_decay", 0.01}}};
      for (const Shape& shape : std::vector<Shape>{{5}, {17, 3, 3, 2}})
        for (int k = 0; k < (momentum > 0 ? 3 : 2); ++k) c.inputs.push_back(f32(shape));
      c.numbers = {{c.inputs.size(), draw_scale}, {c.inputs.size() + 1, [finite](Random&) { return finite; }}};
      c.inputs.insert(c.inputs.end(), {scale, flag});
      cases.push_back(c);
    }
  }
}

void add_clipping(std::vector<Case>& cases) {
  const TensorType number = f32({1}), scale = f32({2}), flag{DType::i32, {1}};
  for (int64_t scaled : {0, 1}) {
    // Norms above and below the largest, and infinite ones.
    for (double max_norm : {0.5, 1e6})
      for (double bad : {0.0, HUGE_VAL}) {
        Case c{"clip_factor", {f32({3, 2, 5, 5}), f32({7}), f32({300, 130})}, {{"eps", 1e-6}, {"max_norm", max_norm}}};
        if (bad != 0) c.numbers[1] = [bad](Random& r) { return r.integer(3) ? bad : r.normal(); };
        if (scaled) {
          c.attributes.set("scaled", scaled);
          c.numbers[c.inputs.size()] = draw_scale;
          c.inputs.push_back(scale);
        }
        cases.push_back(c);
      }
    for (double momentum : {0.0, 0.9}) {
      Case c{"sgd_update",
             {f32({1})},
             {{"clipped", int64_t{1}},
              {"group", int64_t{0}},
              {"momentum", momentum},
              {"nesterov", int64_t{0}},
              {"weight_decay", 0.01}}};
      for (const Shape& shape : std::vector<Shape>{{5}, {17, 3, 3, 2}})
        for (int k = 0; k < (momentum > 0 ? 3 : 2); ++k) c.inputs.push_back(f32(shape));
      if (scaled) {
        c.attributes.set("scaled", scaled);
        c.numbers = {{c.inputs.size(), draw_scale}, {c.inputs.size() + 1, [](Random&) { return 1.0; }}};
        c.inputs.insert(c.inputs.end(), {scale, flag});
      }
      c.numbers[c.inputs.size()] = [](Random& r) { return 1.0 / static_cast<double>(1 + r.integer(9)); };
      c.inputs.push_back(number);
      cases.push_back(c);
    }
  }
}

void add_gradient_passes(std::vector<Case>& cases) {
  cases.push_back(
      {"gradient_norm", {f32({3, 2, 5, 5}), f32({7}), f32({300, 130})}, {{"rank", int64_t{1}}, {"ranks", int64_t{4}}}});
  cases.push_back({"gradient_norm", {}, {{"rank", int64_t{0}}, {"ranks", int64_t{2}}}});  // it counts none
  Case rounded{"round_bf16", {f32({17, 3, 3, 2}), f32({5}), f32({4000})}, {}};
  rounded.numbers[0] = [](Random& r) { return r.normal() * std::ldexp(1.0, static_cast<int>(r.integer(260)) - 140); };
  rounded.numbers[1] = [](Random& r) { return r.integer(2) ? HUGE_VAL : std::nan(""); };
  // Half way between two.
  rounded.numbers[2] = [](Random& r) { return static_cast<double>(257 + 2 * r.integer(100)); };
  cases.push_back(rounded);
}

}  // namespace

void add_update_cases(std::vector<Case>& cases) {
  add_sgd_update(cases);
  add_loss_scaling(cases);
  add_clipping(cases);
  add_gradient_passes(cases);
}

}  // namespace troika
