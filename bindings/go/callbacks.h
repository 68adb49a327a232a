/* Calls of the library that need C: callbacks, and structs that point to memory of Go.
 *
 * A handle is a cgo.Handle, a number that stands for a value of Go. It is passed as a number,
 * because Go refuses a pointer variable that holds no address.
 */
#ifndef TROIKA_GO_CALLBACKS_H
#define TROIKA_GO_CALLBACKS_H

#include <stdint.h>
#include <troika/troika.h>

/* Sets the log function. The library deletes the handle at the end. */
void troika_go_set_log(troika_context_options *options, uintptr_t handle);

/* Creates a dataset from arrays. With a handle that is not 0 it borrows them; the library deletes
 * the handle when it no longer needs them. */
troika_status troika_go_create_from(troika_context context, troika_arrays arrays,
                                    const void *inputs, const void *targets, uintptr_t handle,
                                    troika_dataset *out_dataset, troika_error *error);

/* Creates a dataset that Go reads. The library deletes the handle at the end. */
troika_status troika_go_create_callback(troika_context context, troika_source source,
                                        uintptr_t handle, troika_dataset *out_dataset,
                                        troika_error *error);

/* Sets the progress callback, or removes it if the handle is 0. */
troika_status troika_go_set_progress(troika_trainer trainer, uintptr_t handle,
                                     troika_error *error);

/* Begins a step. The handle is deleted when the step has ended. */
troika_status troika_go_step_async(troika_trainer trainer, troika_batch batch, uintptr_t handle,
                                   troika_pending *out_pending, troika_error *error);

/* Calls the deleter of a struct of DLPack. */
void troika_go_delete_dlpack(void *managed, int is_versioned);

#endif
