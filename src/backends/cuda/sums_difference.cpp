// Totals of rows, by channel, and their comparison.
#include "backends/cuda/sums_difference.h"

#include <cmath>

#include "core/text.h"

namespace troika::cuda {
namespace {

struct ChannelMoments {
  double count = 0, mean = 0, variance = 0;
};

ChannelMoments merge(const std::vector<float>& rows, size_t channels, size_t channel) {
  const size_t size = 2 * channels + 1;
  ChannelMoments m;
  for (size_t r = 0; r < rows.size(); r += size) m.count += rows[r];
  for (size_t r = 0; r < rows.size(); r += size) m.mean += rows[r] * double{rows[r + 1 + channel]} / m.count;
  double squares = 0;
  for (size_t r = 0; r < rows.size(); r += size)
    squares += rows[r + 1 + channels + channel] + rows[r] * std::pow(rows[r + 1 + channel] - m.mean, 2);
  m.variance = squares / m.count;
  return m;
}

std::vector<double> total_of(const std::vector<float>& rows, size_t size) {
  std::vector<double> sums(size);
  for (size_t i = 0; i < rows.size(); ++i) sums[i % size] += rows[i];
  return sums;
}

}  // namespace

std::string difference_of_moments(const std::vector<float>& found, const std::vector<float>& expected,
                                  size_t channels) {
  constexpr double kBound = 1e-3;  // of the standard deviation, and of the variance
  for (size_t channel = 0; channel < channels; ++channel) {
    const ChannelMoments f = merge(found, channels, channel), e = merge(expected, channels, channel);
    if (f.count != e.count || !(std::fabs(f.mean - e.mean) <= kBound * std::sqrt(e.variance)) ||
        !(std::fabs(f.variance - e.variance) <= kBound * e.variance))
      return text("channel ", channel, " has mean ", f.mean, " and variance ", f.variance, " of ", f.count,
                  " values, expected ", e.mean, " and ", e.variance, " of ", e.count);
  }
  return "";
}

std::string difference_of_sums(const std::vector<float>& found, const std::vector<float>& expected, size_t channels) {
  constexpr double kBound = 1.0 / 64;  // of the norm of sums whose terms cancel
  const size_t size = 2 * channels + 1;
  const std::vector<double> f = total_of(found, size), e = total_of(expected, size);
  if (f[0] != e[0]) return text("its sums are of ", f[0], " values, expected ", e[0]);
  for (size_t first : {size_t{1}, 1 + channels}) {
    double difference = 0, norm = 0;
    for (size_t i = first; i < first + channels; ++i) {
      difference += (f[i] - e[i]) * (f[i] - e[i]);
      norm += e[i] * e[i];
    }
    if (!(difference <= kBound * kBound * norm))
      return text("its sums differ by ", std::sqrt(difference / norm), " of the norm");
  }
  return "";
}

}  // namespace troika::cuda
