// The job of this process: the processes that a launcher has started together.
#pragma once

#include "cli/client.h"

namespace troika::cli {

using Group = Handle<troika_group, troika_group_destroy>;

class Job {
 public:
  Job();  // joins the other processes, if a launcher has started some

  bool is_alone() const { return info_.processes == 1; }
  bool leads() const { return info_.rank == 0; }  // writes files and shows progress for all
  int rank() const { return info_.rank; }
  int size() const { return info_.processes; }
  // Returns what the leader has decided. All processes of the job call it alike.
  bool decide(bool own) const;

  troika_group group() const { return is_alone() ? nullptr : group_.get(); }

 private:
  Context context_;
  Group group_;
  troika_group_info info_ = TROIKA_GROUP_INFO_INIT;
};

// Returns the threads of this process: `threads`, or if it is 0 the launcher's wish; 0: every core.
int threads_of_process(int threads);

}  // namespace troika::cli
