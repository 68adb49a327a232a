// Rows of a batch that another process has computed, because it holds the layers that make them.
#pragma once

#include <vector>

#include "train/attachment.h"

namespace troika {

// Whether another process may compute a layer for this process's rows.
bool are_rows_elsewhere(const Attachment& attached);

// Passes the rows of each share, of a batch of `n`, to all processes, from the process with the
// share's layers at a position of the pipeline. A row has `elements` numbers. Collective. COMM.
void gather_rows(const Attachment& attached, int position, int64_t n, int64_t elements, std::vector<float>& rows);

// Leaves the rows of this process: those of the view.
void keep_own_rows(const BatchView& view, int64_t elements, std::vector<float>& rows);

}  // namespace troika
