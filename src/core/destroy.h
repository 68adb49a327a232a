// A deleter for std::unique_ptr that ends an object of a C library by the library's own function.
#pragma once

namespace troika {

// std::unique_ptr<FILE, Destroy<fclose>>.
template <auto kFunction>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    kFunction(object);
  }
};

}  // namespace troika
