// Comparison of rows of sums over an image, as a convolution returns them for batch_norm2d. Rows of
// two ways may be of other parts of the image, so their totals are compared.
#pragma once

#include <string>
#include <vector>

namespace troika::cuda {

// Rows {values per channel, means [channels], sums of squared differences from the means
// [channels]}. Returns how the merged moments differ; empty: only by rounding.
std::string difference_of_moments(const std::vector<float>& found, const std::vector<float>& expected, size_t channels);

// Rows {values per channel, sums [channels], sums of products [channels]}. The same for their
// totals.
std::string difference_of_sums(const std::vector<float>& found, const std::vector<float>& expected, size_t channels);

}  // namespace troika::cuda
