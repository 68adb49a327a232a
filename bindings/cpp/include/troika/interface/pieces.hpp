/** @file interface/pieces.hpp Options and results of pieces.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_PIECES_HPP
#define TROIKA_INTERFACE_PIECES_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Options of Trainer::forward. */
struct ForwardOptions {
  /** 1: the backward pass also computes the gradient of the inputs, which must be f32. Default
   *  0. */
  bool input_gradient = detail::initial<bool, &troika_forward_options::input_gradient>();
  /** 1: Trainer::backward takes the gradient of the output from the caller; the targets of the
   *  batch are not read, and a batch may have none. Default 0: the trainer's own loss. */
  bool own_loss = detail::initial<bool, &troika_forward_options::own_loss>();
  /** Above 0: the gradient of the trainer's loss is multiplied by this number; the loss that is
   *  reported is not. n / N for a pass over n of N samples makes the sum of all passes the
   *  gradient of the mean over the N samples. 0 (default): 1. Excludes own_loss. */
  double weight = detail::initial<double, &troika_forward_options::weight>();
};

namespace detail {

template <>
struct Raw<ForwardOptions> {
  explicit Raw(const ForwardOptions& from) {
    value.input_gradient = from.input_gradient ? 1 : 0;
    value.own_loss = from.own_loss ? 1 : 0;
    value.weight = from.weight;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_forward_options* get() const noexcept { return &value; }

  troika_forward_options value = defaults<troika_forward_options>();
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
