// Events of the process, as the system reports them.
#pragma once

namespace troika {

// From now on each forked child calls the function first.
void call_in_forked_children(void (*function)());

// Loads now what the system loads when a thread first ends early. If that fails later, the process
// ends.
void prepare_ends_of_threads();

}  // namespace troika
