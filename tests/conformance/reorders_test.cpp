// Reorders of 16-bit images on CPUs keep all numbers. In bf16 denormal numbers, below 1.2e-38, may
// become 0.
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/node_runner.h"
#include "core/float16.h"
#include "support/test_device.h"

namespace troika {
namespace {

double number_of(DType dtype, uint16_t bits) {
  return static_cast<double>(dtype == DType::bf16 ? float_of_bf16(bits) : float_of_f16(bits));
}

// Every number that is finite, in the order of bits, and again from the beginning.
Array all_numbers(DType dtype, const Shape& shape) {
  Array array(shape);
  uint16_t bits = 0;
  for (double& v : array.data) {
    while (!std::isfinite(v = number_of(dtype, bits))) ++bits;
    ++bits;
  }
  return array;
}

TEST(Reorders, OfImagesIn16BitsKeepEveryNumber) {
  if (!is_on_cpu()) GTEST_SKIP() << "these are reorders of CPUs, tested is " << test_device();
  NodeRunner runner(2);
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const Shape& shape : {Shape{4, 32, 16, 32}, Shape{3, 33, 26, 26}, Shape{65536, 1, 1, 1}, Shape{7, 9363, 1, 1},
                               Shape{1, 20, 1, 3277}}) {
      const TensorType type{dtype, shape};
      runner.run([&] {
        std::vector<LayoutPtr> layouts = runner.image_layouts(type);
        layouts.push_back(nullptr);
        const Array numbers = all_numbers(dtype, shape);
        for (const LayoutPtr& from : layouts)
          for (const LayoutPtr& to : layouts) {
            const Array found = runner.read(runner.reorder(runner.hold(type, numbers, from), to));
            for (int64_t i = 0; i < numbers.elements(); ++i) {
              if (dtype == DType::bf16 && std::abs(numbers[i]) < 0x1p-126 && found[i] == 0) continue;
              ASSERT_EQ(found[i], numbers[i]) << name_of(dtype) << shape << " from " << (from ? from->name() : "plain")
                                              << " to " << (to ? to->name() : "plain") << ", element " << i;
            }
          }
      });
    }
}

}  // namespace
}  // namespace troika
