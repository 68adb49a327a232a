// All steps of lstm and gru in one launch, and their gradients, against plain loops in f64: on
// fresh random numbers, with poisoned outputs. On a GPU, and on a GPU in software.
#include "backends/cuda/recurrent_sequence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>

#include "kernel_test.h"

namespace troika::cuda {
namespace {

struct Case {
  bool is_lstm;
  int64_t n, t, hidden;
  bool has_optional = true;  // biases, first states, and gradients of y and of the last states

  int64_t gates() const { return is_lstm ? 4 : 3; }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << (c.is_lstm ? "lstm_" : "gru_") << c.n << 'x' << c.t << 'x' << c.hidden
             << (c.has_optional ? "" : "_without_optional");
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Numbers on the GPU and here; absent ones are null there, and 0 here.
class Numbers {
 public:
  Numbers() = default;
  Numbers(std::vector<float> values, cudaStream_t stream)
      : values_(std::move(values)), memory_(std::make_unique<Memory<float>>(values_.size(), stream)) {
    memory_->set(values_);
  }
  float* get() const { return memory_ ? memory_->get() : nullptr; }
  double operator[](int64_t i) const { return memory_ ? values_[static_cast<size_t>(i)] : 0; }

 private:
  std::vector<float> values_;
  std::unique_ptr<Memory<float>> memory_;
};

class RecurrentSequenceTest : public KernelTest<Case, 70> {
 protected:
  Numbers random(int64_t count, float size = 1) {
    std::vector<float> values(static_cast<size_t>(count));
    std::normal_distribution<float> normal;
    for (float& v : values) v = size * normal(lot_);
    return {std::move(values), stream_};
  }
  Numbers random_gates(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::uniform_real_distribution<float> between(0, 1);
    for (float& v : values) v = between(lot_);
    return {std::move(values), stream_};
  }
  Numbers optional(int64_t count) { return c_.has_optional ? random(count) : Numbers(); }
  // A memory that is to be written, and some more that is not.
  std::unique_ptr<Memory<float>> output(int64_t count) const {
    return std::make_unique<Memory<float>>(static_cast<size_t>(count) + kAfter, stream_);
  }

  std::unique_ptr<Memory<unsigned>> poisoned_flags() const {
    auto flags = std::make_unique<Memory<unsigned>>(recurrent_flag_bytes(kMultiprocessors) / sizeof(unsigned), stream_);
    flags->poison();
    return flags;
  }

  // Runs with one sample per block, twice, and with two: the same bits. With wide states, teams
  // have more samples at last. Then the outputs must be near what is expected, and nothing may be
  // written after them.
  template <typename Run>
  void expect(Run run, const std::vector<Memory<float>*>& outputs, const std::vector<std::vector<double>>& expected) {
    std::vector<std::vector<float>> first;
    const int many = by_teams_ ? kMultiprocessors : 1000, few = by_teams_ ? kOneTeam : 1;
    for (const int multiprocessors : {many, many, few}) {
      if (by_teams_)
        ASSERT_TRUE(takes_recurrent_teams(c_.is_lstm, n_, hidden_, multiprocessors, kShared));
      else
        ASSERT_TRUE(takes_recurrent_sequence(hidden_, kShared));
      for (Memory<float>* output : outputs) output->poison();
      run(multiprocessors);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const std::vector<float> found = outputs[i]->read();
        if (first.size() == i) first.push_back(found);
        ASSERT_EQ(std::memcmp(found.data(), first[i].data(), found.size() * sizeof(float)), 0) << "output " << i;
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(first[i].size(), expected[i].size() + kAfter);
      double largest = 1e-3;
      for (double e : expected[i]) largest = std::max(largest, std::fabs(e));
      for (size_t j = 0; j < expected[i].size(); ++j)
        ASSERT_NEAR(first[i][j], expected[i][j], 3e-5 * largest) << "output " << i << ", element " << j;
      for (size_t j = expected[i].size(); j < first[i].size(); ++j)
        ASSERT_TRUE(std::isnan(first[i][j])) << "written after output " << i;
    }
  }

  static constexpr size_t kAfter = 32, kShared = 163 << 10;
  static constexpr int kMultiprocessors = 64, kOneTeam = 32;  // one team of the widest states
  const Case c_ = GetParam();
  const bool by_teams_ = c_.hidden > 128;
  const int64_t n_ = c_.n, t_ = c_.t, hidden_ = c_.hidden, rows_ = c_.gates() * c_.hidden;
  const int64_t states_ = n_ * hidden_, values_ = n_ * t_ * hidden_;
};

std::vector<double> zeros(int64_t count) { return std::vector<double>(static_cast<size_t>(count)); }

TEST_P(RecurrentSequenceTest, EqualsPlainLoops) {
  const Numbers of_input = random(n_ * t_ * rows_), weights = random(rows_ * hidden_, 0.4f), bias_ih = optional(rows_),
                bias_hh = optional(rows_), first_h = optional(states_),
                first_c = c_.is_lstm ? optional(states_) : Numbers();
  const auto gates = output(4 * values_), c = output(values_), y = output(values_), last_c = output(states_),
             last_h = output(states_);
  const auto flags = poisoned_flags();
  std::vector<double> gates_e = zeros(4 * values_), c_e = zeros(values_), y_e = zeros(values_),
                      last_c_e = zeros(states_), last_h_e = zeros(states_);
  for (int64_t n = 0; n < n_; ++n) {
    std::vector<double> h = zeros(hidden_), cell = zeros(hidden_);
    for (int64_t j = 0; j < hidden_; ++j) {
      h[static_cast<size_t>(j)] = first_h[n * hidden_ + j];
      cell[static_cast<size_t>(j)] = first_c[n * hidden_ + j];
    }
    for (int64_t t = 0; t < t_; ++t) {
      std::vector<double> next = h;
      for (int64_t j = 0; j < hidden_; ++j) {
        const auto input = [&](int64_t k) {
          return of_input[(n * t_ + t) * rows_ + k * hidden_ + j] + bias_ih[k * hidden_ + j];
        };
        const auto state = [&](int64_t k) {
          double sum = bias_hh[k * hidden_ + j];
          for (int64_t i = 0; i < hidden_; ++i)
            sum += weights[(k * hidden_ + j) * hidden_ + i] * h[static_cast<size_t>(i)];
          return sum;
        };
        double kept[4];
        double &own_h = next[static_cast<size_t>(j)], &own_c = cell[static_cast<size_t>(j)];
        if (c_.is_lstm) {
          for (int64_t k = 0; k < 4; ++k)
            kept[k] = k == 2 ? std::tanh(input(k) + state(k)) : sigmoid(input(k) + state(k));
          own_c = kept[1] * own_c + kept[0] * kept[2];
          own_h = kept[3] * std::tanh(own_c);
        } else {
          kept[0] = sigmoid(input(0) + state(0));
          kept[1] = sigmoid(input(1) + state(1));
          kept[3] = state(2);
          kept[2] = std::tanh(input(2) + kept[0] * kept[3]);
          own_h = (1 - kept[1]) * kept[2] + kept[1] * h[static_cast<size_t>(j)];
        }
        const int64_t row = n * t_ + t;
        for (int64_t k = 0; k < 4; ++k) gates_e[static_cast<size_t>((row * 4 + k) * hidden_ + j)] = kept[k];
        c_e[static_cast<size_t>(row * hidden_ + j)] = last_c_e[static_cast<size_t>(n * hidden_ + j)] = own_c;
        y_e[static_cast<size_t>(row * hidden_ + j)] = last_h_e[static_cast<size_t>(n * hidden_ + j)] = own_h;
      }
      h = next;
    }
  }
  RecurrentSequence s{.n = n_,
                      .t = t_,
                      .hidden = hidden_,
                      .of_input = of_input.get(),
                      .weight_hh = weights.get(),
                      .bias_ih = bias_ih.get(),
                      .bias_hh = bias_hh.get(),
                      .first_h = first_h.get(),
                      .first_c = first_c.get(),
                      .gates = gates->get(),
                      .c = nullptr,
                      .y = y->get(),
                      .last_c = nullptr,
                      .last_h = last_h->get(),
                      .flags = flags->get()};
  std::vector<Memory<float>*> outputs = {gates.get(), y.get(), last_h.get()};
  std::vector<std::vector<double>> expected = {gates_e, y_e, last_h_e};
  if (c_.is_lstm) {
    s.c = c->get();
    s.last_c = last_c->get();
    outputs.insert(outputs.end(), {c.get(), last_c.get()});
    expected.insert(expected.end(), {c_e, last_c_e});
  }
  const auto run = by_teams_ ? (c_.is_lstm ? lstm_teams : gru_teams) : c_.is_lstm ? lstm_sequence : gru_sequence;
  expect([&](int multiprocessors) { run(s, multiprocessors, stream_); }, outputs, expected);
}

TEST_P(RecurrentSequenceTest, HasTheGradientOfPlainLoops) {
  // Without the optional operands, an even state has a gradient of y alone, and an odd one of its
  // last h alone.
  const bool has_dy = c_.has_optional || hidden_ % 2 == 0, has_dlast_h = c_.has_optional || !has_dy;
  const Numbers weights = random(rows_ * hidden_, 0.4f), gates = random_gates(4 * values_), c = random(values_),
                y = random(values_), first_h = optional(states_), first_c = optional(states_),
                dy = has_dy ? random(values_) : Numbers(), dlast_h = has_dlast_h ? random(states_) : Numbers(),
                dlast_c = optional(states_);
  const auto dinput = output(n_ * t_ * rows_), dstate = output(n_ * t_ * rows_), dfirst_h = output(states_),
             dfirst_c = output(states_);
  const auto flags = poisoned_flags();
  std::vector<double> dinput_e = zeros(n_ * t_ * rows_), dstate_e = dinput_e, dfirst_h_e = zeros(states_),
                      dfirst_c_e = zeros(states_);
  const Numbers &values = c_.is_lstm ? c : y, &first = c_.is_lstm ? first_c : first_h;
  for (int64_t n = 0; n < n_; ++n) {
    std::vector<double> dh = zeros(hidden_), dc = zeros(hidden_);
    for (int64_t j = 0; j < hidden_; ++j) {
      dh[static_cast<size_t>(j)] = dlast_h[n * hidden_ + j];
      dc[static_cast<size_t>(j)] = dlast_c[n * hidden_ + j];
    }
    for (int64_t t = t_; t-- > 0;) {
      const int64_t row = n * t_ + t;
      std::vector<double> passed = zeros(hidden_);
      for (int64_t j = 0; j < hidden_; ++j) {
        const auto at = [&](int64_t k) { return static_cast<size_t>((row * c_.gates() + k) * hidden_ + j); };
        double kept[4];
        for (int64_t k = 0; k < 4; ++k) kept[k] = gates[(row * 4 + k) * hidden_ + j];
        const double before = t > 0 ? values[(row - 1) * hidden_ + j] : first[n * hidden_ + j];
        const double d = dh[static_cast<size_t>(j)] + dy[row * hidden_ + j];
        if (c_.is_lstm) {
          const auto [i, f, g, o] = kept;
          const double tanh_c = std::tanh(c[row * hidden_ + j]);
          double& own_dc = dc[static_cast<size_t>(j)];
          own_dc += d * o * (1 - tanh_c * tanh_c);
          dstate_e[at(0)] = own_dc * g * i * (1 - i);
          dstate_e[at(1)] = own_dc * before * f * (1 - f);
          dstate_e[at(2)] = own_dc * i * (1 - g * g);
          dstate_e[at(3)] = d * tanh_c * o * (1 - o);
          for (int64_t k = 0; k < 4; ++k) dinput_e[at(k)] = dstate_e[at(k)];
          own_dc *= f;
        } else {
          const auto [r, z, m, u] = kept;
          const double dm = d * (1 - z) * (1 - m * m);
          dinput_e[at(0)] = dstate_e[at(0)] = dm * u * r * (1 - r);
          dinput_e[at(1)] = dstate_e[at(1)] = d * (before - m) * z * (1 - z);
          dinput_e[at(2)] = dm;
          dstate_e[at(2)] = dm * r;
          passed[static_cast<size_t>(j)] = d * z;
        }
      }
      for (int64_t j = 0; j < hidden_; ++j) {
        double sum = passed[static_cast<size_t>(j)];
        for (int64_t r = 0; r < rows_; ++r)
          sum += dstate_e[static_cast<size_t>(row * rows_ + r)] * weights[r * hidden_ + j];
        dh[static_cast<size_t>(j)] = sum;
      }
    }
    for (int64_t j = 0; j < hidden_; ++j) {
      dfirst_h_e[static_cast<size_t>(n * hidden_ + j)] = dh[static_cast<size_t>(j)];
      dfirst_c_e[static_cast<size_t>(n * hidden_ + j)] = dc[static_cast<size_t>(j)];
    }
  }
  RecurrentSequenceGradient s{.n = n_,
                              .t = t_,
                              .hidden = hidden_,
                              .weight_hh = weights.get(),
                              .gates = gates.get(),
                              .c = c_.is_lstm ? c.get() : nullptr,
                              .y = y.get(),
                              .first_h = first_h.get(),
                              .first_c = c_.is_lstm ? first_c.get() : nullptr,
                              .dy = dy.get(),
                              .dlast_h = dlast_h.get(),
                              .dlast_c = c_.is_lstm ? dlast_c.get() : nullptr,
                              .dinput = dinput->get(),
                              .dstate = c_.is_lstm ? nullptr : dstate->get(),
                              .dfirst_h = nullptr,
                              .dfirst_c = nullptr,
                              .flags = flags->get()};
  std::vector<Memory<float>*> outputs = {dinput.get()};
  std::vector<std::vector<double>> expected = {dinput_e};
  if (!c_.is_lstm) {
    outputs.push_back(dstate.get());
    expected.push_back(dstate_e);
  }
  if (c_.has_optional) {
    s.dfirst_h = dfirst_h->get();
    outputs.push_back(dfirst_h.get());
    expected.push_back(dfirst_h_e);
    if (c_.is_lstm) {
      s.dfirst_c = dfirst_c->get();
      outputs.push_back(dfirst_c.get());
      expected.push_back(dfirst_c_e);
    }
  }
  const auto run = by_teams_    ? (c_.is_lstm ? lstm_teams_gradient : gru_teams_gradient)
                   : c_.is_lstm ? lstm_sequence_gradient
                                : gru_sequence_gradient;
  expect([&](int multiprocessors) { run(s, multiprocessors, stream_); }, outputs, expected);
}

// Each form, whole and not; fewer steps than are loaded ahead, and more; an odd number of samples.
INSTANTIATE_TEST_SUITE_P(
    Sizes, RecurrentSequenceTest,
    testing::Values(Case{true, 3, 5, 128}, Case{false, 3, 5, 128}, Case{true, 2, 6, 64}, Case{false, 2, 6, 64},
                    Case{true, 5, 11, 32}, Case{false, 5, 11, 32}, Case{true, 3, 4, 100}, Case{false, 1, 3, 67},
                    Case{true, 3, 9, 33, false}, Case{false, 3, 9, 33, false}, Case{true, 7, 1, 1},
                    Case{false, 4, 2, 3}, Case{true, 2, 3, 17, false}, Case{false, 3, 2, 50}, Case{true, 2, 1, 100},
                    Case{true, 3, 4, 48, false}, Case{false, 2, 3, 20, false}, Case{true, 26, 3, 130},
                    Case{false, 26, 3, 130}, Case{true, 61, 2, 256}, Case{false, 45, 2, 256}, Case{true, 13, 2, 512}, Case{false, 15, 2, 500}, Case{true, 5, 3, 256}, Case{false, 5, 2, 256}, Case{true, 5, 3, 300},
                    Case{false, 5, 3, 300}, Case{true, 2, 4, 512}, Case{false, 1, 2, 512}, Case{true, 4, 3, 129, false},
                    Case{false, 6, 4, 137, false}, Case{true, 3, 1, 200, false}, Case{false, 3, 1, 260}),
    testing::PrintToStringParamName());

TEST(RecurrentSequences, AreThoseOfSmallStates) {
  constexpr size_t kShared = 163 << 10;
  EXPECT_TRUE(takes_recurrent_sequence(1, kShared));
  EXPECT_FALSE(takes_recurrent_sequence(129, kShared));
  EXPECT_TRUE(takes_recurrent_sequence(64, 48 << 10));
  EXPECT_FALSE(takes_recurrent_sequence(65, 99 << 10)) << "weights have no room";
}

TEST(RecurrentSequences, AreOfTeamsWithWideStatesAndFewSamples) {
  constexpr size_t kShared = 163 << 10;
  EXPECT_FALSE(takes_recurrent_teams(true, 1, 128, 132, kShared));
  EXPECT_TRUE(takes_recurrent_teams(true, 1, 129, 132, kShared));
  EXPECT_FALSE(takes_recurrent_teams(true, 1, 513, 132, kShared));
  EXPECT_TRUE(takes_recurrent_teams(true, 256, 256, 132, kShared));
  EXPECT_FALSE(takes_recurrent_teams(true, 257, 256, 132, kShared)) << "16 teams have 16 samples each at most";
  EXPECT_TRUE(takes_recurrent_teams(false, 192, 256, 132, kShared));
  EXPECT_FALSE(takes_recurrent_teams(false, 193, 256, 132, kShared)) << "a gru's blocks have fewer threads";
  EXPECT_TRUE(takes_recurrent_teams(true, 64, 512, 132, kShared));
  EXPECT_FALSE(takes_recurrent_teams(true, 64, 512, 132, 99 << 10)) << "gradients of 16 samples may have no room";
  EXPECT_FALSE(takes_recurrent_teams(true, 1, 512, 31, kShared)) << "a team has 32 blocks";
}

}  // namespace
}  // namespace troika::cuda
