// The _init functions of all structs.
#include "api/structs.h"

#define TROIKA_INIT(type) \
  void type##_init(type* out, uint32_t struct_size) { troika::api::init_struct(out, struct_size); }
TROIKA_INIT(troika_batch_info)
TROIKA_INIT(troika_context_options)
TROIKA_INIT(troika_conv2d_options)
TROIKA_INIT(troika_dataset_info)
TROIKA_INIT(troika_dataset_options)
TROIKA_INIT(troika_device_info)
TROIKA_INIT(troika_load_options)
TROIKA_INIT(troika_load_report)
TROIKA_INIT(troika_loader_options)
TROIKA_INIT(troika_loader_position)
TROIKA_INIT(troika_memory_info)
TROIKA_INIT(troika_metrics)
TROIKA_INIT(troika_model_options)
TROIKA_INIT(troika_parameter_group)
TROIKA_INIT(troika_parameter_info)
TROIKA_INIT(troika_plan_options)
TROIKA_INIT(troika_plan_result)
TROIKA_INIT(troika_pool2d_options)
TROIKA_INIT(troika_step_result)
TROIKA_INIT(troika_tensor_info)
TROIKA_INIT(troika_trainer_options)
