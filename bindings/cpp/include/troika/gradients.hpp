/** @file gradients.hpp Gradients of a number that operations on tensors have made. */
#ifndef TROIKA_GRADIENTS_HPP
#define TROIKA_GRADIENTS_HPP

#include <troika/tensor.hpp>

namespace troika {
inline namespace v1 {

/**
 * A record of the operations that read a watched tensor, or a result of such an operation.
 *
 *     Gradients record(context);
 *     record.watch(w);
 *     const Tensor loss = x.matmul(w).mean();
 *     const std::vector<Tensor> gradients = record.of(loss, {w});
 *     record.close();
 *     w.add_in_place(gradients[0], -0.1);
 *
 * It holds the tensors that it has recorded until it ends. They are not changed in place before.
 */
class Gradients : public Object<troika_gradients> {
 public:
  Gradients() noexcept = default;
  explicit Gradients(troika_gradients owned) noexcept : Object(owned) {}

  /** Creates an empty record. */
  explicit Gradients(const Context& context)
      : Gradients(detail::make<troika_gradients>(troika_gradients_create, detail::handle_of(context))) {}

  /** Records the operations that read these tensors from now on. Writes the tensors. */
  template <typename... Tensors>
  void watch(Tensors&... tensors) {
    (watch_one(tensors), ...);
  }

  /**
   * Returns the gradient of a tensor of one number for each of `tensors`, any number of times
   * (`troika_gradients_compute`).
   */
  std::vector<Tensor> of(const Tensor& number, const TensorList& tensors) const {
    std::vector<troika_tensor> handles(tensors.size());
    std::vector<Tensor> gradients(tensors.size());
    detail::call(troika_gradients_compute, detail::handle_of(*this), detail::handle_of(number), tensors.data(),
                 detail::length(tensors), handles.data());
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = Tensor(handles[i]);
    return gradients;
  }

 private:
  void watch_one(Tensor& tensor) {
    detail::call(troika_gradients_watch, detail::handle_of(*this), detail::handle_of(tensor));
  }
};

}  // namespace v1
}  // namespace troika

#endif
