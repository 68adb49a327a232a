/** @file describe.h Descriptions: what a model, a layer, a value and a trainer are, also as JSON.
 *
 * Threads: descriptions of models run together with other calls that read the model. Those of
 * trainers take one call at a time.
 */
#ifndef TROIKA_DESCRIBE_H
#define TROIKA_DESCRIBE_H

#include <troika/trainer.h>

TROIKA_BEGIN_DECLS

/**
 * Returns the name of model `index` of the zoo, for `troika_model_create`; NULL beyond the last.
 * Borrowed: static text. Never fails. Any thread.
 *
 *     for (int32_t i = 0; troika_zoo_name(i) != NULL; ++i) puts(troika_zoo_name(i));
 */
TROIKA_API(const char *) troika_zoo_name(int32_t index);

/** Description of a model. Filled by `troika_model_describe`. */
typedef struct troika_model_info {
  uint32_t struct_size;                 /**< Set by the caller to sizeof(troika_model_info). */
  int32_t is_complete;                  /**< 1: the output is set. */
  int32_t layers;                       /**< Layers, with the input as layer 0. */
  int32_t entries;                      /**< Parameters and buffers together. */
  int64_t parameters;                   /**< Elements of all parameters. */
  /** Operations of the forward pass for one sample; a product and its sum are 2. */
  double operations;
  int32_t input_dtype;                  /**< TROIKA_DTYPE_F32, or TROIKA_DTYPE_I32 for tokens; 0
                                         *   without an input. */
  int32_t input_rank;                   /**< Rank of a sample, without the batch. */
  int64_t input_dims[TROIKA_MAX_RANK];  /**< Shape of a sample; 0 beyond `input_rank`. */
  int32_t output_dtype;                 /**< TROIKA_DTYPE_F32; 0 if the model is not complete. */
  int32_t output_rank;                  /**< Rank of one sample's output. */
  int64_t output_dims[TROIKA_MAX_RANK]; /**< Shape of one sample's output. */
  char name[256];                       /**< The model's name. */
} troika_model_info;

/** All zero except `struct_size`. */
#define TROIKA_MODEL_INFO_INIT \
  { sizeof(troika_model_info), 0, 0, 0, 0, 0.0, 0, 0, {0}, 0, 0, {0}, {0} }

/** Fills `info` as TROIKA_MODEL_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_model_info_init(troika_model_info *info, uint32_t struct_size);

/**
 * Describes a model, which need not be complete. Errors: BUSY. Reads the model.
 *
 *     troika_model_info info = TROIKA_MODEL_INFO_INIT;
 *     troika_model_describe(model, &info, &error);  // resnet50: input_dims {3, 224, 224}
 */
TROIKA_API(troika_status) troika_model_describe(troika_model model, troika_model_info *out_info,
                                                troika_error *error);

/** Most inputs of a layer that `troika_layer_info` lists. */
#define TROIKA_MAX_LAYER_INPUTS 8

/** Description of a layer. Filled by `troika_model_describe_layer`. */
typedef struct troika_layer_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_layer_info). */
  int32_t input_count;           /**< Values that the layer reads. */
  troika_value inputs[TROIKA_MAX_LAYER_INPUTS]; /**< The first of them; 0 beyond the last. */
  troika_value output;           /**< The layer's output. */
  int64_t parameters;            /**< Elements of the layer's parameters. */
  double operations;             /**< Operations of the forward pass for one sample. */
  int32_t dtype;                 /**< Type of the output: TROIKA_DTYPE_F32 and so on. */
  int32_t rank;                  /**< Rank of one sample's output. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of one sample's output; 0 beyond `rank`. */
  /** "conv2d" for a layer of `troika_model_add_conv2d`, and so on; "input" for the input. */
  char kind[64];
  char name[256];                /**< "layer1.0.conv1". */
} troika_layer_info;

/** All zero except `struct_size`. */
#define TROIKA_LAYER_INFO_INIT \
  { sizeof(troika_layer_info), 0, {0}, 0, 0, 0.0, 0, 0, {0}, {0}, {0} }

/** Fills `info` as TROIKA_LAYER_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_layer_info_init(troika_layer_info *info, uint32_t struct_size);

/**
 * Describes layer `index` (0 .. layers - 1, in the order in which layers were added). Errors:
 * NOT_FOUND (no such index), BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_describe_layer(troika_model model, int32_t index,
                                                      troika_layer_info *out_info,
                                                      troika_error *error);

/**
 * Returns the index of the layer with that name in `*out_index`. Errors: NOT_FOUND (no such layer;
 * the message names the nearest), BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_find_layer(troika_model model, const char *name,
                                                  int32_t *out_index, troika_error *error);

/** Description of a value. Filled by `troika_model_describe_value`. */
typedef struct troika_value_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_value_info). */
  int32_t layer;                 /**< Index of the layer whose output the value is. */
  int32_t dtype;                 /**< TROIKA_DTYPE_F32 and so on. */
  int32_t rank;                  /**< Rank of one sample's value, without the batch. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Shape of one sample's value; 0 beyond `rank`. */
} troika_value_info;

/** All zero except `struct_size`. */
#define TROIKA_VALUE_INFO_INIT \
  { sizeof(troika_value_info), 0, 0, 0, {0} }

/** Fills `info` as TROIKA_VALUE_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_value_info_init(troika_value_info *info, uint32_t struct_size);

/**
 * Describes a value of a model. Errors: INVALID_ARGUMENT (a value that is not this model's), BUSY.
 * Reads the model.
 */
TROIKA_API(troika_status) troika_model_describe_value(troika_model model, troika_value value,
                                                      troika_value_info *out_info,
                                                      troika_error *error);

/**
 * Writes the description of a model as one JSON object: name, input, output, layers with kinds,
 * wiring, settings and shapes, parameters and buffers (`entries`). The rules for the buffer are
 * those of `troika_model_print`.
 *
 * Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. Reads the model.
 */
TROIKA_API(troika_status) troika_model_to_json(troika_model model, char *buffer, int64_t capacity,
                                               int64_t *out_size, troika_error *error);

/** Description of a trainer. Filled by `troika_trainer_describe`. */
typedef struct troika_trainer_info {
  uint32_t struct_size;     /**< Set by the caller to sizeof(troika_trainer_info). */
  int32_t device_count;     /**< Devices, and replicas, of this process. */
  troika_mesh mesh;         /**< How the devices of all processes share the work; no part is 0. */
  int64_t step;             /**< Steps done, also those before a training state was loaded. */
  double learning_rate;     /**< The rate of the next step, with schedule. */
  double loss_scale;        /**< The scale of the next step; 1 without. */
  int64_t trained_elements; /**< Elements of the parameters that are trained. */
  int32_t trained_entries;  /**< Parameters that are trained. */
  int32_t is_usable;        /**< 1; 0 after an error that is permanent: DETACHED, COMM. */
} troika_trainer_info;

/** All zero except `struct_size`. */
#define TROIKA_TRAINER_INFO_INIT \
  { sizeof(troika_trainer_info), 0, {0, 0, 0, 0}, 0, 0.0, 0.0, 0, 0, 0 }

/** Fills `info` as TROIKA_TRAINER_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_trainer_info_init(troika_trainer_info *info, uint32_t struct_size);

/** Describes a trainer. Errors: BUSY. One thread per trainer at a time. */
TROIKA_API(troika_status) troika_trainer_describe(troika_trainer trainer,
                                                  troika_trainer_info *out_info,
                                                  troika_error *error);

/**
 * Copies the trainer's devices of this process, in the order of replicas, into `devices`, which has
 * room for `device_capacity` of them. If `out_device_count` is not NULL, it receives their number.
 * An array that is too small, or NULL with capacity 0, is no error.
 *
 * Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_devices(troika_trainer trainer, troika_device *devices,
                                                     int32_t device_capacity,
                                                     int32_t *out_device_count,
                                                     troika_error *error);

/**
 * Returns the options that the trainer was attached with. Fields that were unset have the values
 * that the trainer uses. Another model can be attached with these options. Borrowed until the
 * trainer is destroyed: groups, texts and arrays. A library of a later version may have longer
 * groups: group i begins i * `groups->struct_size` bytes after the first.
 *
 * These fields stay unset, because that is their value: settings that the optimizer does not have,
 * `ignore_index`, `layer_cuts`, `recompute_layers`, and the fields with which a group follows the
 * trainer. `group` is always NULL: the handle is the caller's. Set it again to attach another model
 * with the same processes.
 *
 * Errors: BUSY. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_get_options(troika_trainer trainer,
                                                     troika_trainer_options *out_options,
                                                     troika_error *error);

/**
 * Writes the description of a trainer as one JSON object: model, devices, mesh, step, options,
 * optimizer and groups. The rules for the buffer are those of `troika_model_print`.
 *
 * Errors: INVALID_ARGUMENT (a capacity below 0), BUSY. One thread per trainer at a time.
 */
TROIKA_API(troika_status) troika_trainer_to_json(troika_trainer trainer, char *buffer,
                                                 int64_t capacity, int64_t *out_size,
                                                 troika_error *error);

TROIKA_END_DECLS

#endif
