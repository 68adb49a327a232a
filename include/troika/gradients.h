/** @file gradients.h Gradients: of a number that operations on tensors have made.
 *
 * A gradients object records the operations that read a watched tensor, or a result of such an
 * operation, on any device. From the record it computes gradients by the rules that training uses.
 *
 *     troika_gradients_create(context, &record, &error);
 *     troika_gradients_watch(record, w, &error);
 *     troika_tensor_matmul(x, w, 0, 0, &y, &error);
 *     troika_tensor_mean(y, NULL, 0, 0, &loss, &error);
 *     troika_gradients_compute(record, loss, &w, 1, &dw, &error);   // dw has w's shape
 *     troika_gradients_destroy(record);
 *     troika_tensor_add_in_place(w, dw, -0.1, &error);              // w = w - 0.1 dw
 */
#ifndef TROIKA_GRADIENTS_H
#define TROIKA_GRADIENTS_H

#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/** A record of operations. It holds the tensors that it has recorded until it is destroyed. */
typedef struct troika_gradients_s *troika_gradients;

/**
 * Creates an empty record.
 *
 * Owned: destroy `*out_gradients` with `troika_gradients_destroy`. Errors: INVALID_ARGUMENT. Any
 * thread.
 */
TROIKA_API(troika_status) troika_gradients_create(troika_context context,
                                                  troika_gradients *out_gradients,
                                                  troika_error *error);

/** Ends the recording and frees what is held. NULL is ignored. Never fails. Any thread. */
TROIKA_API(void) troika_gradients_destroy(troika_gradients gradients);

/**
 * Records the operations that read `tensor` from now on. Until the record is destroyed, calls that
 * would change the tensor return INVALID_ARGUMENT. Do not change its memory by other ways, such as
 * a result of `troika_tensor_reshape`.
 *
 * Errors: INVALID_ARGUMENT if another record watches the tensor, or if the tensor is not f32, bf16
 * or f16. Threads: writes the tensor.
 */
TROIKA_API(troika_status) troika_gradients_watch(troika_gradients gradients, troika_tensor tensor,
                                                 troika_error *error);

/**
 * Computes the gradients of `number`, a tensor of one element that operations of this record have
 * made, for each of `tensors`. `out_tensors[i]` has the type, the shape and the device of
 * `tensors[i]`. May be called several times.
 *
 * Owned: destroy each of `out_tensors[0 .. tensor_count-1]`; on an error all are NULL. Errors:
 * INVALID_ARGUMENT if the number or a tensor is not of this record, if there are several elements,
 * or if the number does not depend on a tensor; UNSUPPORTED for an operation without a gradient;
 * OUT_OF_MEMORY. Threads: reads the tensors.
 */
TROIKA_API(troika_status) troika_gradients_compute(troika_gradients gradients, troika_tensor number,
                                                   const troika_tensor *tensors,
                                                   int32_t tensor_count, troika_tensor *out_tensors,
                                                   troika_error *error);

TROIKA_END_DECLS

#endif
