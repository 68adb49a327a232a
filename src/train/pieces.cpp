// Passes and updates one by one.
#include "train/pieces.h"

#include <algorithm>

#include "core/address_space.h"
#include "core/text.h"
#include "train/row_exchange.h"

namespace troika {

StepResult Pieces::forward(const BatchView& view, const BatchOrigin* origin, const ForwardOptions& options,
                           bool wants_results, float* output) {
  BatchView whole = view;
  whole.output = output;
  const bool waits = wants_results || output;
  stepper_.run_pass(whole, passes_, waits ? Results::own : Results::none, {.piece = Piece::forward, .loss_weight = options.weight});
  samples_ = view.n;
  rows_ = view.rows;
  first_ = view.first;
  options_ = options;
  origin_ = origin ? std::optional(*origin) : std::nullopt;
  StepResult result;
  result.samples = view.n;
  if (options.has_own_loss) return result;
  result.labels = view.counted;
  result.weight = view.weight;
  stepper_.read_losses(result);
  return result;
}

void Pieces::check_backward(const TensorType& type, const float* gradient) const {
  if (!attached_.runner.holds_forward())
    throw Error(Status::not_initialized,
                "backward: there is no forward pass, or another call has used its memory since; run forward first");
  if (!options_.has_own_loss) {
    if (gradient)
      throw Error(Status::invalid_argument,
                  "backward: a gradient of the output is given, but the forward pass has the trainer's own loss; pass"
                  " NULL, or set own_loss for the forward pass");
    return;
  }
  const TensorType needed{DType::f32, model_.output_shape().times(rows_)};
  if (!gradient)
    throw Error(Status::invalid_argument, text("backward: the gradient of the output is NULL; own_loss needs ",
                                               name_of(needed.dtype), needed.shape));
  if (type != needed)
    throw Error(Status::invalid_argument, text("backward: the gradient of the output is ", name_of(type.dtype),
                                               type.shape, ", needs ", name_of(needed.dtype), needed.shape));
}

namespace {

// Returns images of the whole shape, of which the network reads only the upper left part: the
// gradient of the rest is 0.
void copy_cropped(const std::vector<float>& part, const Shape& shape, const Shape& whole, std::vector<float>& images) {
  const int64_t height = shape[1], width = shape[2];
  const int64_t count = static_cast<int64_t>(part.size()) / (height * width);
  for (int64_t image = 0; image < count; ++image)
    for (int64_t y = 0; y < height; ++y)
      std::copy_n(part.begin() + (image * height + y) * width, width,
                  images.begin() + (image * whole[1] + y) * whole[2]);
}

}  // namespace

void Pieces::backward(const TensorType& type, const float* gradient) {
  StepRunner& runner = attached_.runner;
  // Allocates everything first: after the run, nothing may fail.
  const float scale = stepper_.next_gradient_scale();
  std::vector<float> scaled, input_gradient, reported;
  if (gradient && scale != 1) {
    scaled.assign(gradient, gradient + type.shape.elements());
    for (float& number : scaled) number *= scale;
    gradient = scaled.data();
  }
  const bool gathers = options_.has_input_gradient && are_rows_elsewhere(attached_);
  const int64_t rows = gathers ? samples_ : rows_;
  const Shape whole = model_.input_shape();
  Shape shape = whole;
  if (options_.has_input_gradient) {
    input_gradient.resize(static_cast<size_t>(rows * whole.elements()));
    shape = runner.input_gradient_shape().value_or(whole);
    reported.resize(static_cast<size_t>(rows * shape.elements()));
  }
  if (passes_ > 0) runner.prepare_sums();
  require_address_space(kRoomOfLibraries);
  upload_gradients();

  BatchView view;
  view.n = samples_;
  view.rows = rows_;
  view.first = first_;
  StepPiece piece{.piece = Piece::backward, .adds_gradients = passes_ > 0, .output_gradient = gradient};
  if (options_.has_input_gradient) {
    piece.input_gradient = reported.data();
    piece.input_gradient_elements = shape.elements();
    piece.first_input_gradient = gathers ? 0 : first_;
  }
  stepper_.run_pass(view, passes_, gradient || piece.input_gradient ? Results::own : Results::none, piece);
  ++passes_;
  trained_ = origin_;
  if (shape == whole)
    input_gradient.swap(reported);
  else
    copy_cropped(reported, shape, whole, input_gradient);
  if (gathers) {
    gather_rows(attached_, 0, samples_, whole.elements(), input_gradient);
    keep_own_rows(view, whole.elements(), input_gradient);
  }
  for (float& number : input_gradient) number /= scale;
  input_gradient_ = std::move(input_gradient);
}

StepResult Pieces::update(bool wants_results) {
  upload_gradients();
  const BatchOrigin* const origin = trained_ ? &*trained_ : nullptr;
  StepResult result = stepper_.start(BatchView(), origin, wants_results ? Results::own : Results::none);
  stepper_.finish(result);
  passes_ = 0;
  return result;
}

void Pieces::require_gradients(const char* piece) const {
  if (passes_ == 0)
    throw Error(Status::not_initialized,
                text(piece, ": there is no backward pass since the last step; run forward and backward first"));
}

void Pieces::upload_gradients() {
  for (auto next = set_.begin(); next != set_.end(); next = set_.erase(next))
    attached_.state.write(Role::gradient, next->first, next->second.data());
}

const std::vector<float>& Pieces::input_gradient() const {
  if (input_gradient_.empty())
    throw Error(Status::not_initialized,
                "gradient of the inputs: the last backward pass has not computed it; set input_gradient for the forward"
                " pass");
  return input_gradient_;
}

void Pieces::forget() {
  attached_.runner.forget_forward();
  passes_ = 0;
  set_.clear();
  input_gradient_.clear();
}

}  // namespace troika
