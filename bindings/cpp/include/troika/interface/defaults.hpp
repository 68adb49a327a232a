/** @file interface/defaults.hpp The library's defaults of options and results.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_DEFAULTS_HPP
#define TROIKA_INTERFACE_DEFAULTS_HPP

#include <troika/convert.hpp>

namespace troika {
inline namespace v1 {

namespace detail {

inline void init(troika_arrays* value) noexcept { troika_arrays_init(value, sizeof *value); }
inline void init(troika_batch_info* value) noexcept { troika_batch_info_init(value, sizeof *value); }
inline void init(troika_context_options* value) noexcept { troika_context_options_init(value, sizeof *value); }
inline void init(troika_conv1d_options* value) noexcept { troika_conv1d_options_init(value, sizeof *value); }
inline void init(troika_conv2d_options* value) noexcept { troika_conv2d_options_init(value, sizeof *value); }
inline void init(troika_dataset_info* value) noexcept { troika_dataset_info_init(value, sizeof *value); }
inline void init(troika_dataset_options* value) noexcept { troika_dataset_options_init(value, sizeof *value); }
inline void init(troika_device_info* value) noexcept { troika_device_info_init(value, sizeof *value); }
inline void init(troika_forward_options* value) noexcept { troika_forward_options_init(value, sizeof *value); }
inline void init(troika_group_info* value) noexcept { troika_group_info_init(value, sizeof *value); }
inline void init(troika_group_options* value) noexcept { troika_group_options_init(value, sizeof *value); }
inline void init(troika_layer_info* value) noexcept { troika_layer_info_init(value, sizeof *value); }
inline void init(troika_load_options* value) noexcept { troika_load_options_init(value, sizeof *value); }
inline void init(troika_load_report* value) noexcept { troika_load_report_init(value, sizeof *value); }
inline void init(troika_loader_options* value) noexcept { troika_loader_options_init(value, sizeof *value); }
inline void init(troika_loader_position* value) noexcept { troika_loader_position_init(value, sizeof *value); }
inline void init(troika_memory_info* value) noexcept { troika_memory_info_init(value, sizeof *value); }
inline void init(troika_metrics* value) noexcept { troika_metrics_init(value, sizeof *value); }
inline void init(troika_model_info* value) noexcept { troika_model_info_init(value, sizeof *value); }
inline void init(troika_model_options* value) noexcept { troika_model_options_init(value, sizeof *value); }
inline void init(troika_parameter_group* value) noexcept { troika_parameter_group_init(value, sizeof *value); }
inline void init(troika_parameter_info* value) noexcept { troika_parameter_info_init(value, sizeof *value); }
inline void init(troika_trainer_options* value) noexcept { troika_trainer_options_init(value, sizeof *value); }
inline void init(troika_plan_options* value) noexcept { troika_plan_options_init(value, sizeof *value); }
inline void init(troika_plan_result* value) noexcept { troika_plan_result_init(value, sizeof *value); }
inline void init(troika_pool2d_options* value) noexcept { troika_pool2d_options_init(value, sizeof *value); }
inline void init(troika_save_options* value) noexcept { troika_save_options_init(value, sizeof *value); }
inline void init(troika_scores* value) noexcept { troika_scores_init(value, sizeof *value); }
inline void init(troika_source* value) noexcept { troika_source_init(value, sizeof *value); }
inline void init(troika_step_result* value) noexcept { troika_step_result_init(value, sizeof *value); }
inline void init(troika_tensor_info* value) noexcept { troika_tensor_info_init(value, sizeof *value); }
inline void init(troika_trainer_info* value) noexcept { troika_trainer_info_init(value, sizeof *value); }
inline void init(troika_value_info* value) noexcept { troika_value_info_init(value, sizeof *value); }

// The mesh has no `_init` function; that of trainers sets it.
inline void init(troika_mesh* value) noexcept {
  troika_trainer_options options;
  init(&options);
  *value = options.mesh;
}

/** Returns a struct of C as the library's `_init` function fills it. */
template <typename Struct>
const Struct& defaults() noexcept {
  static const Struct value = [] {
    Struct filled;
    init(&filled);
    return filled;
  }();
  return value;
}

template <typename Struct, typename Field>
Struct struct_of(Field Struct::*);

/** Returns the library's default of a field. */
template <typename To, auto Field>
To initial() {
  return convert<To>(defaults<decltype(struct_of(Field))>().*Field);
}

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
