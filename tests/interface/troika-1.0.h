/* The declarations of version 1.0, without comments: hosts that are built with this file are hosts
 * of 1.0 for ever. abi_test.py --baseline writes the file. */
#ifndef TROIKA_TROIKA_H
#define TROIKA_TROIKA_H
#include <stddef.h>
#include <stdint.h>
#if defined(_WIN32)
#define TROIKA_CALL __cdecl
#else
#define TROIKA_CALL
#endif
#if defined(_WIN32) && defined(TROIKA_STATIC)
#define TROIKA_API(type) type TROIKA_CALL
#elif defined(_WIN32) && defined(TROIKA_BUILD)
#define TROIKA_API(type) __declspec(dllexport) type TROIKA_CALL
#elif defined(_WIN32)
#define TROIKA_API(type) __declspec(dllimport) type TROIKA_CALL
#elif defined(__GNUC__)
#define TROIKA_API(type) __attribute__((visibility("default"))) type TROIKA_CALL
#else
#define TROIKA_API(type) type TROIKA_CALL
#endif
#if defined(__GNUC__)
#define TROIKA_DEPRECATED(message) __attribute__((deprecated(message)))
#elif defined(_MSC_VER)
#define TROIKA_DEPRECATED(message) __declspec(deprecated(message))
#else
#define TROIKA_DEPRECATED(message)
#endif
#if defined(TROIKA_WARN_EXPERIMENTAL)
#define TROIKA_EXPERIMENTAL TROIKA_DEPRECATED("experimental: may change or go in any version")
#else
#define TROIKA_EXPERIMENTAL
#endif
#if defined(__cplusplus)
#define TROIKA_BEGIN_DECLS extern "C" {
#define TROIKA_END_DECLS }
#else
#define TROIKA_BEGIN_DECLS
#define TROIKA_END_DECLS
#endif
#define TROIKA_VERSION_MAJOR 1
#define TROIKA_VERSION_MINOR 0
#define TROIKA_VERSION_PATCH 0
#define TROIKA_VERSION \
  (TROIKA_VERSION_MAJOR * 10000 + TROIKA_VERSION_MINOR * 100 + TROIKA_VERSION_PATCH)
#define TROIKA_UNSET INT32_MIN
TROIKA_BEGIN_DECLS
typedef void(TROIKA_CALL *troika_destroy_function)(void *user);
TROIKA_API(int32_t) troika_version(void);
TROIKA_API(const char *) troika_build_info(void);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef int32_t troika_status;
enum {
  TROIKA_OK = 0,
  TROIKA_END_OF_DATA = 1,
  TROIKA_STEP_SKIPPED = 2,
  TROIKA_STOPPED = 3,
  TROIKA_ERROR_INVALID_ARGUMENT = -1,
  TROIKA_ERROR_OUT_OF_MEMORY = -2,
  TROIKA_ERROR_NOT_FOUND = -3,
  TROIKA_ERROR_UNSUPPORTED = -4,
  TROIKA_ERROR_BUSY = -5,
  TROIKA_ERROR_IO = -6,
  TROIKA_ERROR_CORRUPT = -7,
  TROIKA_ERROR_NOT_INITIALIZED = -8,
  TROIKA_ERROR_NOT_ON_DEVICE = -9,
  TROIKA_ERROR_MISMATCH = -10,
  TROIKA_ERROR_DEVICE_UNAVAILABLE = -11,
  TROIKA_ERROR_COMM = -12,
  TROIKA_ERROR_DETACHED = -13,
  TROIKA_ERROR_INTERNAL = -14,
  TROIKA_ERROR_CALLBACK = -15
};
#define TROIKA_ERROR_MESSAGE_BYTES 1020
typedef struct troika_error {
  int32_t status;
  char message[TROIKA_ERROR_MESSAGE_BYTES];
} troika_error;
TROIKA_API(const char *) troika_status_name(troika_status status);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_context_s *troika_context;
enum { TROIKA_LOG_ERROR = 1, TROIKA_LOG_WARNING = 2, TROIKA_LOG_INFO = 3, TROIKA_LOG_DEBUG = 4 };
typedef void(TROIKA_CALL *troika_log_function)(int32_t level, const char *topic, const char *line,
                                               void *user);
typedef struct troika_context_options {
  uint32_t struct_size;
  int32_t cpu_threads;
  uint64_t seed;
  troika_log_function log;
  void *log_user;
  int32_t log_level;
  int32_t use_environment;
  troika_destroy_function log_user_destroy;
  const char *backends;
  const char *log_topics;
  const char *backend_folder;
  const char *cache_folder;
  int32_t predict_threads;
  int32_t reserved;
} troika_context_options;
#define TROIKA_CONTEXT_OPTIONS_INIT                                                              \
  {                                                                                              \
    sizeof(troika_context_options), TROIKA_UNSET, 0, NULL, NULL, TROIKA_UNSET, 0, NULL, NULL,    \
        NULL, NULL, NULL, TROIKA_UNSET, 0                                                        \
  }
TROIKA_API(void) troika_context_options_init(troika_context_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_context_create(const troika_context_options *options,
                                                troika_context *out_context, troika_error *error);
TROIKA_API(troika_status) troika_context_describe_backends(troika_context context, char *buffer,
                                                           int64_t capacity, int64_t *out_size,
                                                           troika_error *error);
TROIKA_API(void) troika_context_destroy(troika_context context);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
enum {
  TROIKA_DEVICE_CPU = 1,
  TROIKA_DEVICE_CUDA = 2
};
typedef struct troika_device {
  int32_t kind;
  int32_t index;
} troika_device;
typedef struct troika_device_info {
  uint32_t struct_size;
  int32_t cores;
  int64_t memory_bytes;
  int64_t free_bytes;
  char name[256];
} troika_device_info;
#define TROIKA_DEVICE_INFO_INIT \
  { sizeof(troika_device_info), 0, 0, 0, {0} }
TROIKA_API(void) troika_device_info_init(troika_device_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_device_count(troika_context context, int32_t kind,
                                              int32_t *out_device_count, troika_error *error);
TROIKA_API(troika_status) troika_device_describe(troika_context context, troika_device device,
                                                 troika_device_info *out_info, troika_error *error);
TROIKA_API(troika_status) troika_device_parse(const char *text, troika_device *out_device,
                                              troika_error *error);
TROIKA_API(troika_status) troika_device_format(troika_device device, char *buffer, int64_t capacity,
                                               int64_t *out_size, troika_error *error);
TROIKA_API(troika_status) troika_device_try(troika_context context, int32_t index,
                                            troika_device *out_device, troika_error *error);
TROIKA_API(troika_status) troika_devices_all(troika_context context, troika_device *devices,
                                             int32_t device_capacity, int32_t *out_device_count,
                                             troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_tensor_s *troika_tensor;
#define TROIKA_MAX_RANK 8
enum {
  TROIKA_DTYPE_F32 = 1,
  TROIKA_DTYPE_F64 = 2,
  TROIKA_DTYPE_I32 = 3,
  TROIKA_DTYPE_I64 = 4,
  TROIKA_DTYPE_U8 = 5,
  TROIKA_DTYPE_BF16 = 6,
  TROIKA_DTYPE_F16 = 7,
  TROIKA_DTYPE_I8 = 8,
  TROIKA_DTYPE_I16 = 9,
  TROIKA_DTYPE_BOOL = 10,
  TROIKA_DTYPE_F8_E4M3 = 11,
  TROIKA_DTYPE_F8_E5M2 = 12
};
TROIKA_API(troika_status) troika_tensor_create(troika_context context, troika_device device,
                                               int32_t dtype, const int64_t *dims, int32_t rank,
                                               const void *data, troika_tensor *out_tensor,
                                               troika_error *error);
TROIKA_API(void) troika_tensor_destroy(troika_tensor tensor);
typedef struct troika_tensor_info {
  uint32_t struct_size;
  int32_t dtype;
  int32_t rank;
  troika_device device;
  int32_t reserved;
  int64_t dims[TROIKA_MAX_RANK];
  int64_t size_bytes;
} troika_tensor_info;
#define TROIKA_TENSOR_INFO_INIT \
  { sizeof(troika_tensor_info), 0, 0, {0, 0}, 0, {0}, 0 }
TROIKA_API(void) troika_tensor_info_init(troika_tensor_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_tensor_describe(troika_tensor tensor, troika_tensor_info *out_info,
                                                 troika_error *error);
TROIKA_API(troika_status) troika_tensor_to_host(troika_tensor tensor, void *data,
                                                int64_t size_bytes, troika_error *error);
TROIKA_API(troika_status) troika_tensor_from_host(troika_tensor tensor, const void *data,
                                                  int64_t size_bytes, troika_error *error);
TROIKA_API(troika_status) troika_tensor_copy(troika_tensor source, troika_tensor destination,
                                             troika_error *error);
TROIKA_API(troika_status) troika_tensor_to(troika_tensor tensor, troika_device device,
                                           troika_tensor *out_tensor, troika_error *error);
TROIKA_API(troika_status) troika_tensor_scatter(troika_tensor tensor, const troika_device *devices,
                                                int32_t device_count, troika_tensor *out_tensors,
                                                troika_error *error);
TROIKA_API(troika_status) troika_tensor_all_reduce(const troika_tensor *tensors,
                                                   int32_t tensor_count, troika_error *error);
struct DLManagedTensor;
struct DLManagedTensorVersioned;
TROIKA_API(troika_status) troika_tensor_to_dlpack(troika_tensor tensor,
                                                  struct DLManagedTensor **out_managed,
                                                  troika_error *error);
TROIKA_API(troika_status) troika_tensor_to_dlpack_versioned(
    troika_tensor tensor, struct DLManagedTensorVersioned **out_managed, troika_error *error);
TROIKA_API(troika_status) troika_tensor_from_dlpack(troika_context context,
                                                    struct DLManagedTensor *managed,
                                                    troika_tensor *out_tensor, troika_error *error);
TROIKA_API(troika_status) troika_tensor_from_dlpack_versioned(
    troika_context context, struct DLManagedTensorVersioned *managed, troika_tensor *out_tensor,
    troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_dataset_s *troika_dataset;
typedef struct troika_loader_s *troika_loader;
typedef struct troika_batch_s *troika_batch;
typedef struct troika_dataset_options {
  uint32_t struct_size;
  int32_t reserved;
  int64_t resize_height;
  int64_t resize_width;
  double mean;
  double std;
} troika_dataset_options;
#define TROIKA_DATASET_OPTIONS_INIT \
  { sizeof(troika_dataset_options), 0, TROIKA_UNSET, TROIKA_UNSET, 0.0, 1.0 }
TROIKA_API(void) troika_dataset_options_init(troika_dataset_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_dataset_open_idx(troika_context context, const char *images_path,
                                                  const char *labels_path,
                                                  const troika_dataset_options *options,
                                                  troika_dataset *out_dataset, troika_error *error);
TROIKA_API(troika_status) troika_dataset_open_directory(troika_context context,
                                                        const char *directory, const char *split,
                                                        const troika_dataset_options *options,
                                                        troika_dataset *out_dataset,
                                                        troika_error *error);
TROIKA_API(troika_status) troika_dataset_create_arrays(troika_context context, const float *inputs,
                                                       const int64_t *dims, int32_t rank, int64_t n,
                                                       const int32_t *labels, const float *values,
                                                       int64_t value_size,
                                                       troika_dataset *out_dataset,
                                                       troika_error *error);
TROIKA_API(troika_status) troika_dataset_create_synthetic(troika_context context,
                                                          const int64_t *dims, int32_t rank,
                                                          int64_t n, int64_t classes, uint64_t seed,
                                                          troika_dataset *out_dataset,
                                                          troika_error *error);
TROIKA_API(troika_status) troika_dataset_create_token_stream(troika_context context,
                                                             const void *tokens, int32_t dtype,
                                                             int64_t count, int64_t steps,
                                                             troika_dataset *out_dataset,
                                                             troika_error *error);
TROIKA_API(troika_status) troika_dataset_create_tokens(troika_context context, const void *tokens,
                                                       int32_t dtype, int64_t n, int64_t steps,
                                                       const int32_t *labels, int64_t label_size,
                                                       int64_t ignore_index,
                                                       troika_dataset *out_dataset,
                                                       troika_error *error);
typedef struct troika_arrays {
  uint32_t struct_size;
  int32_t dtype;
  const void *inputs;
  const int64_t *dims;
  int32_t rank;
  int32_t tokens;
  int64_t n;
  const void *targets;
  int32_t target_dtype;
  int32_t borrow;
  int64_t target_size;
  double mean;
  double std;
  int64_t ignore_index;
  troika_destroy_function destroy;
  void *user;
} troika_arrays;
#define TROIKA_ARRAYS_INIT                                                                       \
  {                                                                                              \
    sizeof(troika_arrays), TROIKA_DTYPE_F32, NULL, NULL, 0, 0, 0, NULL, 0, 0, 1, 0.0, 1.0,       \
        TROIKA_UNSET, NULL, NULL                                                                 \
  }
TROIKA_API(void) troika_arrays_init(troika_arrays *arrays, uint32_t struct_size);
TROIKA_API(troika_status) troika_dataset_create_from(troika_context context,
                                                     const troika_arrays *arrays,
                                                     troika_dataset *out_dataset,
                                                     troika_error *error);
typedef struct troika_read_request {
  uint32_t struct_size;
  int32_t reserved;
  int64_t n;
  const int64_t *indices;
  int64_t epoch;
  int64_t first;
  void *inputs;
  int32_t *labels;
  float *values;
} troika_read_request;
typedef int64_t(TROIKA_CALL *troika_read_function)(const troika_read_request *request,
                                                   troika_error *error, void *user);
typedef struct troika_source {
  uint32_t struct_size;
  int32_t dtype;
  const int64_t *dims;
  int32_t rank;
  int32_t reserved;
  int64_t n;
  int64_t classes;
  int64_t words;
  int64_t label_size;
  int64_t value_size;
  int64_t ignore_index;
  troika_read_function read;
  void *user;
  troika_destroy_function user_destroy;
} troika_source;
#define TROIKA_SOURCE_INIT                                                                       \
  {                                                                                              \
    sizeof(troika_source), TROIKA_DTYPE_F32, NULL, 0, 0, 0, 0, 0, 1, 0, TROIKA_UNSET, NULL,      \
        NULL, NULL                                                                               \
  }
TROIKA_API(void) troika_source_init(troika_source *source, uint32_t struct_size);
TROIKA_API(troika_status) troika_dataset_create_callback(troika_context context,
                                                         const troika_source *source,
                                                         troika_dataset *out_dataset,
                                                         troika_error *error);
TROIKA_API(troika_status) troika_dataset_subset(troika_dataset dataset, const int64_t *indices,
                                                int64_t count, troika_dataset *out_dataset,
                                                troika_error *error);
TROIKA_API(troika_status) troika_dataset_split(troika_dataset dataset, const int64_t *sizes,
                                               int32_t parts, int32_t shuffle, uint64_t seed,
                                               troika_dataset *out_datasets, troika_error *error);
TROIKA_API(troika_status) troika_dataset_concat(const troika_dataset *datasets,
                                                int32_t dataset_count,
                                                troika_dataset *out_dataset, troika_error *error);
typedef struct troika_dataset_info {
  uint32_t struct_size;
  int32_t rank;
  int64_t n;
  int64_t dims[TROIKA_MAX_RANK];
  int64_t classes;
  int64_t label_size;
  int64_t words;
  int32_t dtype;
  int32_t reserved;
} troika_dataset_info;
#define TROIKA_DATASET_INFO_INIT \
  { sizeof(troika_dataset_info), 0, 0, {0}, 0, 0, 0, 0, 0 }
TROIKA_API(void) troika_dataset_info_init(troika_dataset_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_dataset_describe(troika_dataset dataset,
                                                  troika_dataset_info *out_info,
                                                  troika_error *error);
TROIKA_API(void) troika_dataset_destroy(troika_dataset dataset);
typedef struct troika_loader_options {
  uint32_t struct_size;
  int32_t shuffle;
  int64_t batch;
  int32_t drop_last;
  int32_t prefetch;
  uint64_t seed;
  const double *weights;
  int64_t epoch_samples;
} troika_loader_options;
#define TROIKA_LOADER_OPTIONS_INIT \
  { sizeof(troika_loader_options), 0, TROIKA_UNSET, 0, 2, 0, NULL, 0 }
TROIKA_API(void) troika_loader_options_init(troika_loader_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_loader_create(troika_dataset dataset,
                                               const troika_loader_options *options,
                                               troika_loader *out_loader, troika_error *error);
TROIKA_API(troika_status) troika_loader_next(troika_loader loader, troika_batch *out_batch,
                                             troika_error *error);
typedef struct troika_loader_position {
  uint32_t struct_size;
  int32_t reserved;
  int64_t epoch;
  int64_t batch;
  int64_t batches;
} troika_loader_position;
#define TROIKA_LOADER_POSITION_INIT \
  { sizeof(troika_loader_position), 0, 0, 0, 0 }
TROIKA_API(void) troika_loader_position_init(troika_loader_position *position,
                                             uint32_t struct_size);
TROIKA_API(troika_status) troika_loader_tell(troika_loader loader,
                                             troika_loader_position *out_position,
                                             troika_error *error);
TROIKA_API(troika_status) troika_loader_seek(troika_loader loader,
                                             const troika_loader_position *position,
                                             troika_error *error);
TROIKA_API(void) troika_loader_destroy(troika_loader loader);
TROIKA_API(troika_status) troika_batch_create(troika_tensor inputs, troika_tensor targets,
                                              troika_batch *out_batch, troika_error *error);
TROIKA_API(troika_status) troika_batch_copy(troika_batch batch, troika_batch *out_batch,
                                            troika_error *error);
typedef struct troika_batch_info {
  uint32_t struct_size;
  int32_t rank;
  int64_t n;
  int64_t dims[TROIKA_MAX_RANK];
  const float *inputs;
  const int32_t *labels;
  const float *values;
  int64_t value_size;
  const int32_t *tokens;
  int64_t label_size;
} troika_batch_info;
#define TROIKA_BATCH_INFO_INIT \
  { sizeof(troika_batch_info), 0, 0, {0}, NULL, NULL, NULL, 0, NULL, 0 }
TROIKA_API(void) troika_batch_info_init(troika_batch_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_batch_describe(troika_batch batch, troika_batch_info *out_info,
                                                troika_error *error);
TROIKA_API(void) troika_batch_destroy(troika_batch batch);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_model_s *troika_model;
typedef int64_t troika_value;
typedef struct troika_model_options {
  uint32_t struct_size;
  int32_t reserved;
  int64_t classes;
  int64_t input_channels;
  int64_t input_height;
  int64_t input_width;
  int64_t hidden;
  int64_t steps;
} troika_model_options;
#define TROIKA_MODEL_OPTIONS_INIT                                                                \
  {                                                                                              \
    sizeof(troika_model_options), 0, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET,     \
        TROIKA_UNSET, TROIKA_UNSET                                                               \
  }
TROIKA_API(void) troika_model_options_init(troika_model_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_create(troika_context context, const char *name,
                                              const troika_model_options *options,
                                              troika_model *out_model, troika_error *error);
TROIKA_API(troika_status) troika_model_create_empty(troika_context context, const char *name,
                                                    troika_model *out_model, troika_error *error);
TROIKA_API(troika_status) troika_model_open(troika_context context, const char *path,
                                            troika_model *out_model, troika_error *error);
TROIKA_API(troika_status) troika_model_open_memory(troika_context context, const void *data,
                                                   int64_t size_bytes, troika_model *out_model,
                                                   troika_error *error);
TROIKA_API(troika_status) troika_model_clone(troika_model model, troika_model *out_clone,
                                             troika_error *error);
TROIKA_API(void) troika_model_destroy(troika_model model);
TROIKA_API(troika_status) troika_model_add_input(troika_model model, const char *name,
                                                 const int64_t *dims, int32_t rank,
                                                 troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_typed_input(troika_model model, const char *name,
                                                       int32_t dtype, const int64_t *dims,
                                                       int32_t rank, troika_value *out_value,
                                                       troika_error *error);
TROIKA_API(troika_status) troika_model_add_embedding(troika_model model, const char *name,
                                                     troika_value input, int64_t words,
                                                     int64_t features, troika_value *out_value,
                                                     troika_error *error);
typedef struct troika_conv2d_options {
  uint32_t struct_size;
  int32_t no_bias;
  int64_t out_channels;
  int64_t kernel[2];
  int64_t stride[2];
  int64_t padding[2];
  int64_t dilation[2];
  int64_t groups;
} troika_conv2d_options;
#define TROIKA_CONV2D_OPTIONS_INIT                                                               \
  {                                                                                              \
    sizeof(troika_conv2d_options), 0, TROIKA_UNSET, {TROIKA_UNSET, TROIKA_UNSET}, {1, 1},        \
        {0, 0}, {1, 1}, 1                                                                        \
  }
TROIKA_API(void) troika_conv2d_options_init(troika_conv2d_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_add_conv2d(troika_model model, const char *name,
                                                  troika_value input,
                                                  const troika_conv2d_options *options,
                                                  troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_linear(troika_model model, const char *name,
                                                  troika_value input, int64_t out_features,
                                                  int32_t bias, troika_value *out_value,
                                                  troika_error *error);
TROIKA_API(troika_status) troika_model_add_linear_per_position(troika_model model, const char *name,
                                                               troika_value input,
                                                               int64_t out_features, int32_t bias,
                                                               troika_value *out_value,
                                                               troika_error *error);
TROIKA_API(troika_status) troika_model_add_batch_norm2d(troika_model model, const char *name,
                                                        troika_value input, double eps,
                                                        double momentum, troika_value *out_value,
                                                        troika_error *error);
TROIKA_API(troika_status) troika_model_add_relu(troika_model model, const char *name,
                                                troika_value input, troika_value *out_value,
                                                troika_error *error);
TROIKA_API(troika_status) troika_model_add_gelu(troika_model model, const char *name,
                                                troika_value input, troika_value *out_value,
                                                troika_error *error);
typedef struct troika_pool2d_options {
  uint32_t struct_size;
  int32_t exclude_padding;
  int64_t kernel[2];
  int64_t stride[2];
  int64_t padding[2];
} troika_pool2d_options;
#define TROIKA_POOL2D_OPTIONS_INIT                                                               \
  {                                                                                              \
    sizeof(troika_pool2d_options), 0, {TROIKA_UNSET, TROIKA_UNSET},                              \
        {TROIKA_UNSET, TROIKA_UNSET}, {0, 0}                                                     \
  }
TROIKA_API(void) troika_pool2d_options_init(troika_pool2d_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_add_max_pool2d(troika_model model, const char *name,
                                                      troika_value input,
                                                      const troika_pool2d_options *options,
                                                      troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_avg_pool2d(troika_model model, const char *name,
                                                      troika_value input,
                                                      const troika_pool2d_options *options,
                                                      troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_adaptive_avg_pool2d(troika_model model, const char *name,
                                                               troika_value input,
                                                               int64_t out_height,
                                                               int64_t out_width,
                                                               troika_value *out_value,
                                                               troika_error *error);
TROIKA_API(troika_status) troika_model_add_flatten(troika_model model, const char *name,
                                                   troika_value input, troika_value *out_value,
                                                   troika_error *error);
TROIKA_API(troika_status) troika_model_add_sum(troika_model model, const char *name, troika_value a,
                                               troika_value b, troika_value *out_value,
                                               troika_error *error);
TROIKA_API(troika_status) troika_model_add_dropout(troika_model model, const char *name,
                                                   troika_value input, double probability,
                                                   troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_lstm(troika_model model, const char *name,
                                                troika_value input, int64_t hidden, int32_t bias,
                                                troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_gru(troika_model model, const char *name,
                                               troika_value input, int64_t hidden, int32_t bias,
                                               troika_value *out_value, troika_error *error);
TROIKA_API(troika_status) troika_model_add_select_step(troika_model model, const char *name,
                                                       troika_value input, int64_t step,
                                                       troika_value *out_value,
                                                       troika_error *error);
TROIKA_API(troika_status) troika_model_set_output(troika_model model, troika_value value,
                                                  troika_error *error);
enum {
  TROIKA_INIT_CONSTANT = 1,
  TROIKA_INIT_NORMAL = 2,
  TROIKA_INIT_UNIFORM = 3,
  TROIKA_INIT_KAIMING_NORMAL = 4,
  TROIKA_INIT_KAIMING_UNIFORM = 5,
  TROIKA_INIT_XAVIER_NORMAL = 6,
  TROIKA_INIT_XAVIER_UNIFORM = 7
};
TROIKA_API(troika_status) troika_model_initialize(troika_model model, const char *pattern,
                                                  int32_t initializer, double a, uint64_t seed,
                                                  troika_error *error);
TROIKA_API(troika_status) troika_model_initialize_default(troika_model model, uint64_t seed,
                                                          troika_error *error);
typedef struct troika_parameter_info {
  uint32_t struct_size;
  int32_t dtype;
  int32_t rank;
  int32_t is_buffer;
  int32_t is_initialized;
  int32_t reserved;
  int64_t dims[TROIKA_MAX_RANK];
  char name[256];
} troika_parameter_info;
#define TROIKA_PARAMETER_INFO_INIT \
  { sizeof(troika_parameter_info), 0, 0, 0, 0, 0, {0}, {0} }
TROIKA_API(void) troika_parameter_info_init(troika_parameter_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_count_parameters(troika_model model, int32_t *out_entries,
                                                        int64_t *out_elements, troika_error *error);
TROIKA_API(troika_status) troika_model_describe_parameter(troika_model model, int32_t index,
                                                          troika_parameter_info *out_info,
                                                          troika_error *error);
TROIKA_API(troika_status) troika_model_get_parameter(troika_model model, const char *name,
                                                     void *data, int64_t size_bytes,
                                                     troika_error *error);
TROIKA_API(troika_status) troika_model_set_parameter(troika_model model, const char *name,
                                                     const void *data, int64_t size_bytes,
                                                     troika_error *error);
TROIKA_API(troika_status) troika_model_print(troika_model model, char *buffer, int64_t capacity,
                                             int64_t *out_size, troika_error *error);
typedef struct troika_load_report {
  uint32_t struct_size;
  int32_t loaded;
  int32_t missing;
  int32_t unexpected;
  int32_t mismatching;
  int32_t reserved;
  char names[4096];
} troika_load_report;
#define TROIKA_LOAD_REPORT_INIT \
  { sizeof(troika_load_report), 0, 0, 0, 0, 0, {0} }
TROIKA_API(void) troika_load_report_init(troika_load_report *report, uint32_t struct_size);
typedef struct troika_load_options {
  uint32_t struct_size;
  int32_t allow_partial;
  const char *strip_prefix;
} troika_load_options;
#define TROIKA_LOAD_OPTIONS_INIT \
  { sizeof(troika_load_options), 0, NULL }
TROIKA_API(void) troika_load_options_init(troika_load_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_save(troika_model model, const char *path,
                                            troika_error *error);
TROIKA_API(troika_status) troika_model_load(troika_model model, const char *path,
                                            const troika_load_options *options,
                                            troika_load_report *out_report, troika_error *error);
TROIKA_API(troika_status) troika_model_save_memory(troika_model model, void *buffer,
                                                   int64_t capacity, int64_t *out_size,
                                                   troika_error *error);
TROIKA_API(troika_status) troika_model_load_memory(troika_model model, const void *data,
                                                   int64_t size_bytes,
                                                   const troika_load_options *options,
                                                   troika_load_report *out_report,
                                                   troika_error *error);
TROIKA_API(troika_status) troika_model_predict(troika_model model, troika_device device,
                                               troika_tensor input, troika_tensor *out_output,
                                               troika_error *error);
TROIKA_API(troika_status) troika_model_predict_into(troika_model model, troika_device device,
                                                    const void *inputs, int64_t n,
                                                    const char *layer, float *output,
                                                    int64_t size_bytes, troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_trainer_s *troika_trainer;
enum {
  TROIKA_LOSS_CROSS_ENTROPY = 1,
  TROIKA_LOSS_MEAN_SQUARED_ERROR = 2
};
enum {
  TROIKA_REDUCTION_MEAN = 1,
  TROIKA_REDUCTION_SUM = 2
};
enum {
  TROIKA_OPTIMIZER_SGD = 1,
  TROIKA_OPTIMIZER_ADAM = 2,
  TROIKA_OPTIMIZER_ADAMW = 3,
  TROIKA_OPTIMIZER_RMSPROP = 4,
  TROIKA_OPTIMIZER_LARS = 5,
  TROIKA_OPTIMIZER_LAMB = 6,
  TROIKA_OPTIMIZER_ADAGRAD = 7
};
enum {
  TROIKA_OPTION_LEARNING_RATE = 1,
  TROIKA_OPTION_WEIGHT_DECAY = 2,
  TROIKA_OPTION_MOMENTUM = 3,
  TROIKA_OPTION_NESTEROV = 4,
  TROIKA_OPTION_BETA1 = 5,
  TROIKA_OPTION_BETA2 = 6,
  TROIKA_OPTION_EPS = 7,
  TROIKA_OPTION_ALPHA = 8,
  TROIKA_OPTION_TRUST = 9,
  TROIKA_OPTION_FROZEN = 10
};
enum {
  TROIKA_SCHEDULE_CONSTANT = 1,
  TROIKA_SCHEDULE_STEP = 2,
  TROIKA_SCHEDULE_COSINE = 3,
  TROIKA_SCHEDULE_MULTI_STEP = 4,
  TROIKA_SCHEDULE_EXPONENTIAL = 5,
  TROIKA_SCHEDULE_POLYNOMIAL = 6,
  TROIKA_SCHEDULE_ONE_CYCLE = 7,
  TROIKA_SCHEDULE_PLATEAU = 8,
  TROIKA_SCHEDULE_TABLE = 9
};
enum {
  TROIKA_PRECISION_F32 = 1,
  TROIKA_PRECISION_TF32 = 2,
  TROIKA_PRECISION_BF16 = 3,
  TROIKA_PRECISION_F16 = 4
};
typedef struct troika_parameter_group {
  uint32_t struct_size;
  int32_t frozen;
  const char *pattern;
  double learning_rate;
  double weight_decay;
  double momentum;
  double beta1;
  double beta2;
  double eps;
  double alpha;
  double trust;
} troika_parameter_group;
#define TROIKA_PARAMETER_GROUP_INIT                                                              \
  {                                                                                              \
    sizeof(troika_parameter_group), 0, NULL, -1.0, -1.0, TROIKA_UNSET, TROIKA_UNSET,             \
        TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET                                   \
  }
TROIKA_API(void) troika_parameter_group_init(troika_parameter_group *group, uint32_t struct_size);
enum {
  TROIKA_LAYER_SCHEDULE_GPIPE = 1,
  TROIKA_LAYER_SCHEDULE_1F1B = 2,
  TROIKA_LAYER_SCHEDULE_INTERLEAVED = 3
};
typedef struct troika_mesh {
  int32_t data;
  int32_t layer;
  int32_t channel;
  int32_t reserved;
} troika_mesh;
enum {
  TROIKA_COMPRESSION_NONE = 1,
  TROIKA_COMPRESSION_BF16 = 2
};
typedef struct troika_trainer_options {
  uint32_t struct_size;
  int32_t loss;
  int32_t reduction;
  int32_t precision;
  double learning_rate;
  double momentum;
  double weight_decay;
  int32_t nesterov;
  int32_t schedule;
  int64_t schedule_period;
  double schedule_gamma;
  double schedule_min;
  int64_t warmup_steps;
  int64_t bucket_bytes;
  uint64_t seed;
  const troika_parameter_group *groups;
  int32_t group_count;
  int32_t deadline_ms;
  int32_t collect_trace;
  int32_t no_fusion;
  double loss_scale;
  int64_t loss_scale_interval;
  int32_t micro_batches;
  int32_t logical_shards;
  troika_mesh mesh;
  int32_t layer_schedule;
  int32_t layer_chunks;
  const char *layer_cuts;
  int32_t recompute_segments;
  int32_t sync_batch_norm;
  const char *recompute_layers;
  int64_t activation_budget_bytes;
  double max_gradient_norm;
  int32_t shard_optimizer;
  int32_t gradient_compression;
  int32_t samples_on_host;
  int32_t launches_in_turn;
  int32_t optimizer;
  int32_t skip_decay_one_axis;
  double beta1;
  double beta2;
  double eps;
  double alpha;
  double trust;
  double average_decay;
  int32_t evaluate_parameters;
  int32_t schedule_maximize;
  double schedule_power;
  double schedule_rise;
  double schedule_divisor;
  double schedule_final_divisor;
  double schedule_threshold;
  int64_t schedule_patience;
  const int64_t *schedule_milestones;
  const double *schedule_table;
  int32_t schedule_milestone_count;
  int32_t schedule_table_count;
  double label_smoothing;
  int64_t ignore_index;
  int32_t skip_not_finite;
  int32_t reserved;
} troika_trainer_options;
#define TROIKA_TRAINER_OPTIONS_INIT                                                              \
  {                                                                                              \
    sizeof(troika_trainer_options), TROIKA_LOSS_CROSS_ENTROPY, TROIKA_REDUCTION_MEAN,            \
        TROIKA_PRECISION_F32, 0.1, 0.0, 0.0, 0, TROIKA_SCHEDULE_CONSTANT, 0, 0.1, 0.0, 0,        \
        1048576, 0, NULL, 0, 600000, 0, 0, TROIKA_UNSET, 2000, 1, 0, {0, 1, 1, 0},               \
        TROIKA_LAYER_SCHEDULE_1F1B, 1, NULL, 0, 0, NULL, 0, 0.0, 0, TROIKA_COMPRESSION_NONE, 0,  \
        0, TROIKA_OPTIMIZER_SGD, 0, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET,      \
        TROIKA_UNSET, 0.0, 0, 0, 1.0, 0.3, 25.0, 1e4, 1e-4, 10, NULL, NULL, 0, 0, 0.0,           \
        TROIKA_UNSET, 0, 0                                                                       \
  }
TROIKA_API(void) troika_trainer_options_init(troika_trainer_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_attach(troika_model model, const troika_device *devices,
                                              int32_t device_count,
                                              const troika_trainer_options *options,
                                              troika_trainer *out_trainer, troika_error *error);
TROIKA_API(void) troika_trainer_destroy(troika_trainer trainer);
typedef struct troika_step_result {
  uint32_t struct_size;
  int32_t reserved;
  double loss;
  int64_t samples;
  int64_t correct;
  int64_t step;
  double learning_rate;
  double seconds;
  double loss_scale;
  double gradient_norm;
  int64_t labels;
} troika_step_result;
#define TROIKA_STEP_RESULT_INIT \
  { sizeof(troika_step_result), 0, 0.0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0 }
TROIKA_API(void) troika_step_result_init(troika_step_result *result, uint32_t struct_size);
TROIKA_API(troika_status) troika_trainer_step(troika_trainer trainer, troika_batch batch,
                                              troika_step_result *out_result, troika_error *error);
typedef struct troika_progress {
  uint32_t struct_size;
  int32_t reserved;
  int64_t batch;
  int64_t batches;
  int64_t epoch;
  int64_t samples;
  int64_t correct;
  double loss;
  double seconds;
  int32_t training;
  int32_t skipped;
  double batch_loss;
  int64_t batch_samples;
  int64_t batch_correct;
  double learning_rate;
  int64_t labels;
  int64_t batch_labels;
} troika_progress;
typedef int32_t(TROIKA_CALL *troika_progress_function)(const troika_progress *progress,
                                                       void *user);
TROIKA_API(troika_status) troika_trainer_set_progress(troika_trainer trainer,
                                                      troika_progress_function function, void *user,
                                                      troika_destroy_function user_destroy,
                                                      troika_error *error);
typedef struct troika_metrics {
  uint32_t struct_size;
  int32_t reserved;
  double loss;
  double accuracy;
  int64_t samples;
  int64_t correct;
  double seconds;
  int64_t labels;
  int64_t skipped_steps;
} troika_metrics;
#define TROIKA_METRICS_INIT \
  { sizeof(troika_metrics), 0, 0.0, 0.0, 0, 0, 0.0, 0, 0 }
TROIKA_API(void) troika_metrics_init(troika_metrics *metrics, uint32_t struct_size);
TROIKA_API(troika_status) troika_trainer_train_epoch(troika_trainer trainer, troika_loader loader,
                                                     troika_metrics *out_metrics,
                                                     troika_error *error);
TROIKA_API(troika_status) troika_trainer_train_batches(troika_trainer trainer, troika_loader loader,
                                                       int64_t batches, troika_metrics *out_metrics,
                                                       troika_error *error);
TROIKA_API(troika_status) troika_trainer_evaluate(troika_trainer trainer, troika_loader loader,
                                                  troika_metrics *out_metrics, troika_error *error);
TROIKA_API(troika_status) troika_trainer_evaluate_on(troika_trainer trainer, troika_device device,
                                                     troika_loader loader,
                                                     troika_metrics *out_metrics,
                                                     troika_error *error);
TROIKA_API(troika_status) troika_trainer_evaluate_batch(troika_trainer trainer, troika_batch batch,
                                                        troika_step_result *out_result,
                                                        troika_error *error);
TROIKA_API(troika_status) troika_trainer_predict_loader(troika_trainer trainer,
                                                        troika_loader loader, float *output,
                                                        int64_t size_bytes, int64_t *out_samples,
                                                        troika_error *error);
TROIKA_API(troika_status) troika_trainer_predict_batch(troika_trainer trainer, troika_batch batch,
                                                       float *output, int64_t size_bytes,
                                                       troika_error *error);
TROIKA_API(troika_status) troika_trainer_predict(troika_trainer trainer, troika_tensor input,
                                                 troika_tensor *out_output, troika_error *error);
TROIKA_API(troika_status) troika_trainer_request_stop(troika_trainer trainer, troika_error *error);
TROIKA_API(troika_status) troika_trainer_clear_stop(troika_trainer trainer, troika_error *error);
TROIKA_API(troika_status) troika_trainer_set_learning_rate(troika_trainer trainer, int32_t group,
                                                           double learning_rate,
                                                           troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_learning_rate(troika_trainer trainer, int32_t group,
                                                           double *out_learning_rate,
                                                           troika_error *error);
TROIKA_API(troika_status) troika_trainer_set_option(troika_trainer trainer, int32_t group,
                                                    int32_t option, double value,
                                                    troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_option(troika_trainer trainer, int32_t group,
                                                    int32_t option, double *out_value,
                                                    troika_error *error);
TROIKA_API(troika_status) troika_trainer_report_metric(troika_trainer trainer, double metric,
                                                       troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_parameter(troika_trainer trainer, const char *name,
                                                       troika_device device, void *data,
                                                       int64_t size_bytes, troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_gradient(troika_trainer trainer, const char *name,
                                                      float *data, int64_t size_bytes,
                                                      troika_error *error);
TROIKA_API(troika_status) troika_trainer_check_replicas(troika_trainer trainer,
                                                        troika_error *error);
TROIKA_API(troika_status) troika_trainer_save(troika_trainer trainer, const char *path,
                                              troika_error *error);
typedef struct troika_save_options {
  uint32_t struct_size;
  int32_t keep;
  int32_t in_background;
  int32_t reserved;
} troika_save_options;
#define TROIKA_SAVE_OPTIONS_INIT \
  { sizeof(troika_save_options), 0, 0, 0 }
TROIKA_API(void) troika_save_options_init(troika_save_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_trainer_save_with(troika_trainer trainer, const char *path,
                                                   const troika_save_options *options,
                                                   troika_error *error);
TROIKA_API(troika_status) troika_trainer_wait_save(troika_trainer trainer, troika_error *error);
TROIKA_API(troika_status) troika_trainer_save_average(troika_trainer trainer, const char *path,
                                                      troika_error *error);
TROIKA_API(troika_status) troika_trainer_load(troika_trainer trainer, const char *path,
                                              troika_loader_position *out_position,
                                              troika_error *error);
TROIKA_API(troika_status) troika_trainer_unwrap(troika_trainer trainer, troika_model *out_model,
                                                troika_error *error);
typedef struct troika_memory_info {
  uint32_t struct_size;
  int32_t plans;
  int64_t arena_bytes;
  int64_t parameter_bytes;
  int64_t gradient_bytes;
  int64_t optimizer_bytes;
  int64_t sample_bytes;
} troika_memory_info;
#define TROIKA_MEMORY_INFO_INIT \
  { sizeof(troika_memory_info), 0, 0, 0, 0, 0, 0 }
TROIKA_API(void) troika_memory_info_init(troika_memory_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_trainer_memory(troika_trainer trainer, int32_t replica,
                                                troika_memory_info *out_info, troika_error *error);
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_trainer_explain(troika_trainer trainer, int64_t batch,
                                                 char *buffer, int64_t capacity, int64_t *out_size,
                                                 troika_error *error);
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_trainer_trace(troika_trainer trainer, char *buffer,
                                               int64_t capacity, int64_t *out_size,
                                               troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
TROIKA_API(const char *) troika_zoo_name(int32_t index);
typedef struct troika_model_info {
  uint32_t struct_size;
  int32_t is_complete;
  int32_t layers;
  int32_t entries;
  int64_t parameters;
  double operations;
  int32_t input_dtype;
  int32_t input_rank;
  int64_t input_dims[TROIKA_MAX_RANK];
  int32_t output_dtype;
  int32_t output_rank;
  int64_t output_dims[TROIKA_MAX_RANK];
  char name[256];
} troika_model_info;
#define TROIKA_MODEL_INFO_INIT \
  { sizeof(troika_model_info), 0, 0, 0, 0, 0.0, 0, 0, {0}, 0, 0, {0}, {0} }
TROIKA_API(void) troika_model_info_init(troika_model_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_describe(troika_model model, troika_model_info *out_info,
                                                troika_error *error);
#define TROIKA_MAX_LAYER_INPUTS 8
typedef struct troika_layer_info {
  uint32_t struct_size;
  int32_t input_count;
  troika_value inputs[TROIKA_MAX_LAYER_INPUTS];
  troika_value output;
  int64_t parameters;
  double operations;
  int32_t dtype;
  int32_t rank;
  int64_t dims[TROIKA_MAX_RANK];
  char kind[64];
  char name[256];
} troika_layer_info;
#define TROIKA_LAYER_INFO_INIT \
  { sizeof(troika_layer_info), 0, {0}, 0, 0, 0.0, 0, 0, {0}, {0}, {0} }
TROIKA_API(void) troika_layer_info_init(troika_layer_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_describe_layer(troika_model model, int32_t index,
                                                      troika_layer_info *out_info,
                                                      troika_error *error);
TROIKA_API(troika_status) troika_model_find_layer(troika_model model, const char *name,
                                                  int32_t *out_index, troika_error *error);
typedef struct troika_value_info {
  uint32_t struct_size;
  int32_t layer;
  int32_t dtype;
  int32_t rank;
  int64_t dims[TROIKA_MAX_RANK];
} troika_value_info;
#define TROIKA_VALUE_INFO_INIT \
  { sizeof(troika_value_info), 0, 0, 0, {0} }
TROIKA_API(void) troika_value_info_init(troika_value_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_model_describe_value(troika_model model, troika_value value,
                                                      troika_value_info *out_info,
                                                      troika_error *error);
TROIKA_API(troika_status) troika_model_to_json(troika_model model, char *buffer, int64_t capacity,
                                               int64_t *out_size, troika_error *error);
typedef struct troika_trainer_info {
  uint32_t struct_size;
  int32_t device_count;
  troika_mesh mesh;
  int64_t step;
  double learning_rate;
  double loss_scale;
  int64_t trained_elements;
  int32_t trained_entries;
  int32_t is_usable;
} troika_trainer_info;
#define TROIKA_TRAINER_INFO_INIT \
  { sizeof(troika_trainer_info), 0, {0, 0, 0, 0}, 0, 0.0, 0.0, 0, 0, 0 }
TROIKA_API(void) troika_trainer_info_init(troika_trainer_info *info, uint32_t struct_size);
TROIKA_API(troika_status) troika_trainer_describe(troika_trainer trainer,
                                                  troika_trainer_info *out_info,
                                                  troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_devices(troika_trainer trainer, troika_device *devices,
                                                     int32_t device_capacity,
                                                     int32_t *out_device_count,
                                                     troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_options(troika_trainer trainer,
                                                     troika_trainer_options *out_options,
                                                     troika_error *error);
TROIKA_API(troika_status) troika_trainer_to_json(troika_trainer trainer, char *buffer,
                                                 int64_t capacity, int64_t *out_size,
                                                 troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
TROIKA_API(troika_status) troika_file_inspect(const char *path, char *buffer, int64_t capacity,
                                              int64_t *out_size, troika_error *error);
TROIKA_API(troika_status) troika_file_newest(const char *path, char *buffer, int64_t capacity,
                                             int64_t *out_size, troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_pending_s *troika_pending;
typedef void(TROIKA_CALL *troika_done_function)(troika_status status,
                                                const troika_step_result *result,
                                                const troika_error *error, void *user);
TROIKA_API(troika_status) troika_trainer_step_async(troika_trainer trainer, troika_batch batch,
                                                    troika_done_function done, void *user,
                                                    troika_pending *out_pending,
                                                    troika_error *error);
TROIKA_API(troika_status) troika_pending_poll(troika_pending pending, int32_t *out_is_done,
                                              troika_error *error);
TROIKA_API(troika_status) troika_pending_wait(troika_pending pending, int64_t timeout_ms,
                                              troika_step_result *out_result, troika_error *error);
TROIKA_API(void) troika_pending_destroy(troika_pending pending);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_forward_options {
  uint32_t struct_size;
  int32_t input_gradient;
  int32_t own_loss;
  int32_t reserved;
  double weight;
} troika_forward_options;
#define TROIKA_FORWARD_OPTIONS_INIT \
  { sizeof(troika_forward_options), 0, 0, 0, 0.0 }
TROIKA_API(void) troika_forward_options_init(troika_forward_options *options, uint32_t struct_size);
TROIKA_API(troika_status) troika_trainer_forward(troika_trainer trainer, troika_batch batch,
                                                 const troika_forward_options *options,
                                                 troika_tensor *out_output,
                                                 troika_step_result *out_result,
                                                 troika_error *error);
TROIKA_API(troika_status) troika_trainer_backward(troika_trainer trainer,
                                                  troika_tensor output_gradient,
                                                  troika_error *error);
TROIKA_API(troika_status) troika_trainer_get_input_gradient(troika_trainer trainer, float *data,
                                                            int64_t size_bytes,
                                                            troika_error *error);
TROIKA_API(troika_status) troika_trainer_set_gradient(troika_trainer trainer, const char *name,
                                                      const float *data, int64_t size_bytes,
                                                      troika_error *error);
TROIKA_API(troika_status) troika_trainer_apply(troika_trainer trainer,
                                               troika_step_result *out_result, troika_error *error);
TROIKA_END_DECLS
TROIKA_BEGIN_DECLS
typedef struct troika_plan_options {
  uint32_t struct_size;
  int32_t devices;
  int64_t batch;
  int32_t loss;
  int32_t precision;
  double momentum;
  int32_t micro_batches;
  int32_t layer_schedule;
  int32_t layer_chunks;
  int32_t device_kind;
  int64_t memory_bytes;
  double operations_per_second;
  double memory_bandwidth;
  double link_bandwidth;
  double link_latency;
  int32_t logical_shards;
  int32_t recompute_segments;
  int32_t shard_optimizer;
  int32_t gradient_compression;
  const char *recompute_layers;
  int64_t activation_budget_bytes;
  double max_gradient_norm;
  const troika_trainer_options *trainer;
} troika_plan_options;
#define TROIKA_PLAN_OPTIONS_INIT                                                                 \
  {                                                                                              \
    sizeof(troika_plan_options), 1, 256, TROIKA_LOSS_CROSS_ENTROPY, TROIKA_PRECISION_F32, 0.0,   \
        1, TROIKA_LAYER_SCHEDULE_1F1B, 1, 0, 141000000000, TROIKA_UNSET, 4.8e12, 450e9, 2e-6, 0, \
        0, 0, TROIKA_COMPRESSION_NONE, NULL, 0, 0.0, NULL                                        \
  }
TROIKA_API(void) troika_plan_options_init(troika_plan_options *options, uint32_t struct_size);
typedef struct troika_plan_result {
  uint32_t struct_size;
  int32_t fits;
  troika_mesh mesh;
  int64_t parameter_bytes;
  int64_t gradient_bytes;
  int64_t optimizer_bytes;
  int64_t activation_bytes;
  int64_t total_bytes;
  int64_t sent_bytes;
  double bubble;
  double seconds;
} troika_plan_result;
#define TROIKA_PLAN_RESULT_INIT \
  { sizeof(troika_plan_result), 0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0.0, 0.0 }
TROIKA_API(void) troika_plan_result_init(troika_plan_result *result, uint32_t struct_size);
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_plan_estimate(troika_model model,
                                               const troika_plan_options *options,
                                               const troika_mesh *mesh,
                                               troika_plan_result *out_plan, troika_error *error);
TROIKA_EXPERIMENTAL
TROIKA_API(troika_status) troika_plan_choose(troika_model model, const troika_plan_options *options,
                                             troika_plan_result *out_plan, troika_error *error);
TROIKA_END_DECLS
#endif
