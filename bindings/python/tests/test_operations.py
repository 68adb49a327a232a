"""Operations on tensors, and their gradients, on numbers that are known."""

import gc
import math
import threading
import unittest

import numpy
from numpy.testing import assert_allclose, assert_array_equal

import troika
from troika import Tensor


class Operations(unittest.TestCase):
    def setUp(self):
        self.context = troika.Context()

    def tensor(self, numbers, dtype="float32", device="cpu:0"):
        return Tensor(self.context, numbers, device, dtype)

    def refused(self, kind, text, function, *arguments, **options):
        with self.assertRaisesRegex(kind, text) as caught:
            function(*arguments, **options)
        self.assertEqual(str(caught.exception).count("\n"), 0)

    def equal(self, tensor, numbers, dtype=numpy.float32):
        self.assertIs(type(tensor), Tensor)
        found = tensor.numpy()
        self.assertEqual(found.dtype, dtype)
        assert_array_equal(found, numpy.array(numbers, dtype))

    def test_new_tensors(self):
        self.equal(Tensor.full(self.context, (2, 2), 1.5), [[1.5, 1.5], [1.5, 1.5]])
        self.equal(Tensor.full(self.context, (), -7, dtype="int64"), -7, numpy.int64)
        self.assertEqual(Tensor.full(self.context, (1,), 1, "cpu:1", troika.Dtype.BF16).dtype, troika.Dtype.BF16)
        self.equal(Tensor.arange(self.context, 3), [0, 1, 2])
        self.equal(Tensor.arange(self.context, 3, 20, -0.5), [20, 19.5, 19])
        uniform = Tensor.uniform(self.context, (101, 99), -1, 2, seed=7)
        self.equal(Tensor.uniform(self.context, (101, 99), -1, 2, 7, "cpu:1"), uniform.numpy())
        self.assertGreaterEqual(uniform.numpy().min(), -1)
        self.assertLess(uniform.numpy().max(), 2)
        normal = Tensor.normal(self.context, (101, 99), 3, 0.5, seed=7).numpy()
        assert_allclose([uniform.numpy().mean(), normal.mean(), normal.std()], [0.5, 3, 0.5], atol=0.05)
        self.assertFalse((normal == Tensor.normal(self.context, (101, 99), 3, 0.5, seed=8).numpy()).any())
        self.equal(Tensor(self.context, [1, 2], dtype=troika.Dtype.F32), [1, 2])
        self.refused(troika.Unsupported, "dtype is f8_e4m3", Tensor.full, self.context, (1,), 0, dtype=troika.Dtype.F8_E4M3)
        self.refused(troika.InvalidArgument, "-1", Tensor.arange, self.context, -1)
        self.refused(troika.InvalidArgument, "low is 2, needs at most high, which is 1", Tensor.uniform, self.context, (2,), 2, 1)
        self.refused(troika.InvalidArgument, "deviation is -1", Tensor.normal, self.context, (2,), 0, -1)
        self.refused(TypeError, "foo", Tensor.full, self.context, (2,), 0, dtype="foo")

    def test_two_tensors(self):
        a, row, column = self.tensor([[1, 2, 3], [4, 5, 6]]), self.tensor([10, 20, 30]), self.tensor([[2], [4]])
        for found in (a.add(row), a + row):
            self.equal(found, [[11, 22, 33], [14, 25, 36]])
        for found in (row.subtract(a), row - a):
            self.equal(found, [[9, 18, 27], [6, 15, 24]])
        for found in (a.multiply(column), a * column):
            self.equal(found, [[2, 4, 6], [16, 20, 24]])
        for found in (a.divide(column), a / column):
            self.equal(found, [[0.5, 1, 1.5], [1, 1.25, 1.5]])
        self.equal(a.compare(column, "greater"), [[0, 0, 1], [0, 1, 1]], numpy.uint8)
        self.equal(a.compare(a, troika.Relation.LESS), [[0] * 3] * 2, numpy.uint8)
        self.refused(ValueError, "relation is 'more'; need one of equal, not_equal, less", a.compare, a, "more")
        self.refused(troika.InvalidArgument, "relation is 9", a.compare, a, 9)
        self.refused(troika.InvalidArgument, r"shapes \[2, 3\] and \[2\]", a.add, self.tensor([1, 2]))
        self.refused(troika.InvalidArgument, "tensors are on cpu:0 and cpu:1", lambda: a + row.to("cpu:1"))
        self.refused(troika.Unsupported, "'b' is i64, need f32, bf16 or f16", a.add, self.tensor([1], "int64"))

    def test_numbers_as_operands(self):
        x = self.tensor([1, 2])
        for two in (2, 2.0, numpy.float32(2), numpy.int64(2)):
            self.equal(x + two, [3, 4])
            self.equal(two + x, [3, 4])
            self.equal(x - two, [-1, 0])
            self.equal(two - x, [1, 0])
            self.equal(x * two, [2, 4])
            self.equal(two * x, [2, 4])
            self.equal(x / two, [0.5, 1])
        self.equal(-x, [-1, -2])
        self.equal(abs(-x), [1, 2])
        old = x
        x += 1
        self.equal(x, [2, 3])
        self.equal(old, [1, 2])
        array = numpy.ones(2, numpy.float32)
        for wrong in (lambda: 2 / x, lambda: x @ 2, lambda: x + "2", lambda: "2" - x, lambda: None * x, lambda: [1] + x,
                      lambda: array * x, lambda: x * array, lambda: x @ array):
            self.refused(TypeError, "unsupported operand|can only concatenate|can't multiply", wrong)
        self.assertEqual(float(x.sum()), 5.0)
        self.refused(ValueError, r"the tensor is \[2\]; need one number", float, x)

    def test_truth_is_that_of_one_number(self):
        self.assertEqual([bool(self.tensor(numbers)) for numbers in ([0], [[-0.5]], 2)], [False, True, True])
        for numbers in ([1, 2], []):
            self.refused(ValueError, rf"the tensor is \[{len(numbers)}\]; need one number", bool, self.tensor(numbers))

    def test_one_tensor(self):
        numbers = [-2, -0.5, 0, 3]
        x = self.tensor(numbers)
        for function, expected in (("relu", lambda v: max(v, 0)), ("sigmoid", lambda v: 1 / (1 + math.exp(-v))),
                                   ("tanh", math.tanh), ("gelu", lambda v: v * 0.5 * math.erfc(-v / math.sqrt(2))),
                                   ("silu", lambda v: v / (1 + math.exp(-v))), ("abs", abs), ("exp", math.exp)):
            assert_allclose(getattr(x, function)().numpy(), [expected(v) for v in numbers], rtol=2e-6, atol=1e-6,
                            err_msg=function)
        self.equal(self.tensor([0.25, 1, 9]).sqrt(), [0.5, 1, 3])
        assert_allclose(self.tensor([0.25, 1, 9]).log().numpy(), numpy.log([0.25, 1, 9]), atol=1e-6)
        self.equal(x.leaky_relu(0.5), [-1, -0.25, 0, 3])
        self.equal(x.leaky_relu(), [-0.02, -0.005, 0, 3])
        self.equal(x.scale(2, 1), [-3, 0, 1, 7])
        self.equal(x.cast("int32"), [-2, 0, 0, 3], numpy.int32)
        self.equal(x.cast(numpy.uint8), [0, 0, 0, 3], numpy.uint8)
        self.equal(x.cast(troika.Dtype.BF16).cast("float32"), numbers)
        self.refused(troika.Error, "cannot make i8 of f32", x.cast, "int8")

    def test_in_place(self):
        w = self.tensor([[1, 2], [3, 4]])
        w.add_in_place(self.tensor([[1, 1], [2, 2]]), -0.5)
        self.equal(w, [[0.5, 1.5], [2, 3]])
        w.add_in_place(self.tensor([10, 20]))
        self.equal(w, [[10.5, 21.5], [12, 23]])
        w.scale_in_place(2, -1)
        self.equal(w, [[20, 42], [23, 45]])
        self.refused(troika.InvalidArgument, r"the tensor to change is f32\[2\]", self.tensor([1, 2]).add_in_place, w)

    def test_matrices_and_images(self):
        a, b = self.tensor([[1, 2, 3], [4, 5, 6]]), self.tensor([[1, 0], [0, 1], [1, 1]])
        for found in (a.matmul(b), a @ b, a.transpose().matmul(b, transpose_a=True), a.matmul(b.transpose(), transpose_b=True)):
            self.equal(found, [[4, 5], [10, 11]])
        self.refused(troika.InvalidArgument, "3 columns by 2 rows", lambda: a @ a)
        image = Tensor.arange(self.context, 9, 1).reshape((1, 1, 3, 3))
        weight = self.tensor([[[[1, 0], [0, 1]]]])
        self.equal(image.conv2d(weight, self.tensor([100])), [[[[106, 108], [112, 114]]]])
        self.equal(image.conv2d(weight, stride=2, padding=(1, 1)), [[[[1, 3], [7, 14]]]])
        self.equal(image.conv2d(weight, dilation=2, groups=1), [[[[10]]]])
        self.equal(image.max_pool2d(2, stride=1), [[[[5, 6], [8, 9]]]])
        self.equal(image.avg_pool2d((2, 2), stride=1), [[[[3, 4], [6, 7]]]])
        self.equal(image.avg_pool2d(2, padding=1, exclude_padding=True), [[[[1, 2.5], [5.5, 7]]]])
        self.refused(TypeError, "pooling has no option 'strid'; did you mean 'stride'", image.max_pool2d, 2, strid=1)
        self.refused(troika.InvalidArgument, r"weight has shape \[2, 3\]", image.conv2d, a)

    def test_shapes(self):
        x = self.tensor([[1, 2, 3], [4, 5, 6]])
        self.equal(x.reshape((3, -1)), [[1, 2], [3, 4], [5, 6]])
        self.equal(x.transpose(), [[1, 4], [2, 5], [3, 6]])
        self.equal(x.transpose([0, 1]), x.numpy())
        self.equal(x.slice(-1, 1, 3), [[2, 3], [5, 6]])
        self.equal(x.slice(0, 1, 2), [[4, 5, 6]])
        self.equal(Tensor.concat([x, self.tensor([[7], [8]])], axis=1), [[1, 2, 3, 7], [4, 5, 6, 8]])
        self.equal(Tensor.concat((x, x)), numpy.concatenate([x.numpy(), x.numpy()]))
        self.equal(x.expand((2, 2, 3)), [x.numpy(), x.numpy()])
        view = x.reshape((6,))
        x.set(numpy.full((2, 3), 9, numpy.float32))
        self.equal(view, [9] * 6)
        self.refused(troika.InvalidArgument, r"cannot become \[4, 2\]", x.reshape, (4, 2))
        self.refused(troika.InvalidArgument, "axis is 2", x.slice, 2, 0, 1)
        self.refused(troika.InvalidArgument, r"needs each axis of \[2, 3\] once", x.transpose, (1, 1))
        self.refused(ValueError, r"order is \[0\]; the tensor is \[2, 3\]", x.transpose, [0])
        self.refused(troika.InvalidArgument, "", Tensor.concat, [])

    def test_along_axes(self):
        numbers = numpy.arange(1, 9, dtype=numpy.float32).reshape(2, 2, 2)
        x = self.tensor(numbers)
        self.equal(x.sum(), 36)
        self.equal(x.sum([0, -1]), [14, 22])
        self.equal(x.sum((0, -1), keep_axes=True), [[[14], [22]]])
        self.equal(x.sum(()), numbers)
        self.equal(x.mean(1), [[2, 3], [6, 7]])
        self.equal(x.mean(), 4.5)
        self.equal(self.tensor([[3], [-4]]).norm(), 5)
        self.equal(x.argmax(0), [[1, 1], [1, 1]], numpy.int64)
        self.equal(self.tensor([[1, 3, 2]]).argmax(), [1], numpy.int64)
        assert_allclose(self.tensor([0, math.log(3)]).softmax().numpy(), [0.25, 0.75], atol=1e-6)
        assert_allclose(self.tensor([[0], [math.log(3)]]).softmax(0).numpy(), [[0.25], [0.75]], atol=1e-6)
        self.refused(troika.InvalidArgument, "axes have 1 twice", x.sum, (1, -2))
        logits = self.tensor([[0, 0, 0], [1, 2, 3]])
        expected = [math.log(3), math.log(math.exp(1) + math.exp(2) + math.exp(3)) - 3]
        for dtype in ("uint8", "int32", "int64"):
            assert_allclose(logits.cross_entropy(self.tensor([1, 2], dtype)).numpy(), expected, atol=1e-6)
        self.refused(troika.Unsupported, "'labels' is f32", logits.cross_entropy, logits)

    def test_texts(self):
        x = self.tensor([[1, 2.5], [-3, 0]])
        text = "f32[2, 2] on cpu:0\n[[ 1., 2.5],\n [-3.,  0.]]"
        self.assertEqual((x.to_text(), str(x), repr(x)), (text, text, text))
        self.assertEqual(repr(self.tensor([[3]], "int64", "cpu:1")), "i64[1, 1] on cpu:1\n[[3]]")
        self.assertIn("1., 1., 1., ..., 1., 1., 1.]]", str(Tensor.full(self.context, (40, 50), 1)))
        large = Tensor.normal(self.context, (6, 6, 6, 4)).to_text()  # longer than the first buffer
        self.assertEqual(large.count("."), 6 * 6 * 6 * 4)
        x.close()
        self.assertEqual(repr(x), "Tensor(closed)")
        self.refused(ValueError, "the tensor is closed", x.relu)
        self.refused(ValueError, "the tensor is closed", lambda: self.tensor([1]) + x)
        self.context.synchronize_device("cpu:0")
        self.refused(troika.DeviceUnavailable, "cuda", self.context.synchronize_device, "cuda:63")

    def test_results_outlive_their_operands_and_the_context(self):
        x = self.tensor([1, 2])
        view, double = x.reshape((2, 1)), x * 2
        x.close()
        self.context.close()
        gc.collect()
        self.equal(view + double, [[3, 5], [4, 6]])

    def test_threads_compute_at_once(self):
        x = Tensor.normal(self.context, (16, 16))
        expected, found = (x @ x).numpy(), []

        def compute():
            found.append(all(((x @ x).numpy() == expected).all() for _ in range(50)))

        threads = [threading.Thread(target=compute) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 4)


class Gradients(unittest.TestCase):
    def setUp(self):
        self.context = troika.Context()

    def test_rules(self):
        x, w = Tensor(self.context, [[1.0, 2.0]], dtype="float32"), Tensor(self.context, [[3.0], [4.0]], dtype="float32")
        record = troika.Gradients(self.context)
        record.watch(x, w)
        y = (x @ w).sum()
        dx, dw = record.of(y * y, [x, w])
        self.assertEqual((float(y), dx.numpy().tolist(), dw.numpy().tolist()), (11, [[66, 88]], [[22], [44]]))
        self.assertEqual(record.of(y, (w,))[0].numpy().tolist(), [[1], [2]])
        record.close()
        self.assertTrue(record.closed)
        self.assertEqual(dx.shape, (1, 2))
        with self.assertRaisesRegex(ValueError, "the gradients is closed"):
            record.watch(x)

    def test_a_linear_regression_trains(self):
        x = Tensor.normal(self.context, (64, 2), seed=1)
        t = x @ Tensor(self.context, [[2.0], [-3.0]], dtype="float32") + 0.5
        w, b, losses = Tensor.zeros(self.context, (2, 1)), Tensor.zeros(self.context, (1,)), []
        for _ in range(100):
            with troika.Gradients(self.context) as record:
                record.watch(w, b)
                error = x @ w + b - t
                loss = (error * error).mean()
                dw, db = record.of(loss, [w, b])
            w.add_in_place(dw, -0.1)
            b.add_in_place(db, -0.1)
            losses.append(float(loss))
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertLess(losses[-1], 1e-6)
        assert_allclose(w.numpy(), [[2], [-3]], atol=1e-3)
        assert_allclose(b.numpy(), [0.5], atol=1e-3)

    def test_refusals(self):
        x, other = Tensor.full(self.context, (2,), 3), Tensor.full(self.context, (1,), 1)
        second = troika.Gradients(self.context)
        with troika.Gradients(self.context) as record:
            record.watch(x)
            loss = x.norm()
            for kind, text, function in (
                    (troika.InvalidArgument, "belongs to another gradients object", lambda: second.watch(x)),
                    (troika.InvalidArgument, "is i32, need f32, bf16 or f16", lambda: record.watch(other.cast("int32"))),
                    (troika.InvalidArgument, r"'tensors\[1\]' is not recorded", lambda: record.of(loss, [x, other])),
                    (troika.InvalidArgument, "'number' is not recorded", lambda: second.of(loss, [x])),
                    (troika.InvalidArgument, r"the tensor has shape \[2\], need one number", lambda: record.of(x, [x])),
                    (troika.InvalidArgument, "is recorded for gradients", lambda: x.scale_in_place(2))):
                with self.assertRaisesRegex(kind, text) as caught:
                    function()
                self.assertEqual(str(caught.exception).count("\n"), 0)
        x.scale_in_place(2)
        self.assertEqual(x.numpy().tolist(), [6, 6])

    def test_the_collector_ends_a_record(self):
        x = Tensor.full(self.context, (2,), 3)
        record = troika.Gradients(self.context)
        record.watch(x)
        gradient, = record.of(x.sum(), [x])
        record.me = record
        del record
        gc.collect()
        x.add_in_place(gradient)
        self.assertEqual(x.numpy().tolist(), [4, 4])
