// Windows has no forked children, and loads nothing when threads end.
#include "core/process_hooks.h"

namespace troika {

void call_in_forked_children(void (*)()) {}
void prepare_ends_of_threads() {}

}  // namespace troika
