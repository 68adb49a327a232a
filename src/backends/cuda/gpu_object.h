// Objects in the context of a GPU, such as streams and memory: each ends with its owner.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>

#include "backends/cuda/context_guard.h"
#include "backends/cuda/library_check.h"

namespace troika::cuda {

// A deleter: makes the GPU current and ends the object. Holds the context, which must outlive its
// objects.
template <auto kFunction>
struct DestroyOnGpu {
  ContextPtr context;

  template <typename T>
  void operator()(T* object) const {
    end_on(context, [object] { kFunction(object); });
  }
};

template <typename Handle, auto kFunction>
using GpuObject = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyOnGpu<kFunction>>;

// Makes one by create(address of the handle), with the GPU current. `what` begins the message.
template <typename Object, typename Create>
Object create_on(const ContextPtr& context, std::string_view what, Create&& create) {
  const ContextGuard guard(*context);
  typename Object::pointer handle = nullptr;
  check(create(&handle), what);
  return Object(handle, {context});
}

}  // namespace troika::cuda
