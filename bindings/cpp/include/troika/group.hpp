/** @file group.hpp Groups of processes that train together. */
#ifndef TROIKA_GROUP_HPP
#define TROIKA_GROUP_HPP

#include <troika/tensor.hpp>

namespace troika {
inline namespace v1 {

/**
 * The processes of a job. All calls except `describe` are collective: every process makes them, in
 * the same order, or else Error with comm is thrown in all. One thread at a time, else busy.
 *
 * A trainer or a loader joins by the field `group` of its options: `options.group = group.get()`.
 */
class Group : public Object<troika_group> {
 public:
  Group() noexcept = default;
  explicit Group(troika_group owned) noexcept : Object(owned) {}

  /** Joins a group, and returns when all processes have joined. */
  explicit Group(const Context& context, const GroupOptions& options = {})
      : Group(detail::make<troika_group>(troika_group_create, detail::handle_of(context),
                                         detail::Raw<GroupOptions>(options).get())) {}

  /** Returns the place of this process. Any thread. */
  GroupInfo describe() const { return detail::fill<GroupInfo>(troika_group_describe, detail::handle_of(*this)); }

  /** Returns when all processes have called it. */
  void barrier() { detail::call(troika_group_barrier, detail::handle_of(*this)); }

  /** Replaces the elements by their sums over all processes, which have the same bits in each. */
  void all_reduce(Tensor& tensor) {
    detail::call(troika_group_all_reduce, detail::handle_of(*this), detail::handle_of(tensor));
  }

  /** Replaces the elements by those of process `root`. */
  void broadcast(Tensor& tensor, std::int32_t root) {
    detail::call(troika_group_broadcast, detail::handle_of(*this), detail::handle_of(tensor), root);
  }

  /** Returns the tensors of all processes, one after another along axis 0. */
  Tensor all_gather(const Tensor& tensor) {
    return Tensor(
        detail::make<troika_tensor>(troika_group_all_gather, detail::handle_of(*this), detail::handle_of(tensor)));
  }

  /** Returns this process's rows of the sum over all processes. */
  Tensor reduce_scatter(const Tensor& tensor) {
    return Tensor(
        detail::make<troika_tensor>(troika_group_reduce_scatter, detail::handle_of(*this), detail::handle_of(tensor)));
  }

  /** Sends the elements to process `to`, which calls `receive`. */
  void send(const Tensor& tensor, std::int32_t to) {
    detail::call(troika_group_send, detail::handle_of(*this), detail::handle_of(tensor), to);
  }

  /** Replaces the elements by those that process `from` sends, of the same shape and dtype. */
  void receive(Tensor& tensor, std::int32_t from) {
    detail::call(troika_group_receive, detail::handle_of(*this), detail::handle_of(tensor), from);
  }
};

}  // namespace v1
}  // namespace troika

#endif
