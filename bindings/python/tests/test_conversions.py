"""Arrays of another type than the library's: converted if the numbers stay what they are, else refused."""

import numpy

import troika
from support import Case, line, points


class Conversions(Case):
    def test_floats_may_lose_digits(self):
        model = line(self.context)
        for dtype in (numpy.float64, numpy.float16, numpy.int64, numpy.uint8, bool):
            model.set_parameter("fc.bias", numpy.ones(2, dtype))
            self.assertEqual(model.get_parameter("fc.bias").tolist(), [1, 1])

    def test_complex_numbers_and_texts_are_no_numbers(self):
        model = line(self.context)
        model.initialize()
        for values in (numpy.ones((2, 2), complex), numpy.full((2, 2), "1")):
            text = f"dtype is {values.dtype}; need real numbers, for float32"
            self.refused(TypeError, text, model.predict, values)
            self.refused(TypeError, text, model.set_parameter, "fc.weight", values)
            self.refused(TypeError, text, model.load_state_dict, {"fc.weight": values}, strict=False)
            self.refused(TypeError, f"inputs: {text}", troika.Batch.of, self.context, values, [0, 1])
            self.refused(TypeError, text, troika.compute_scores, values, [0, 1])

    def test_integers_keep_their_value(self):
        for values, kind, text in (([1.7], TypeError, "dtype is float64; need integers"),
                                   ([2**32], ValueError, "4294967296"),
                                   ([-2**31 - 1], ValueError, "-2147483649; need -2147483648")):
            self.refused(kind, text, troika.compute_scores, [[0, 1]], values)
            self.refused(kind, text, troika.Tensor, self.context, values, dtype="int32")
        self.assertEqual(troika.Tensor(self.context, [2, 255], dtype="uint8").numpy().tolist(), [2, 255])
        self.refused(ValueError, "data: a number is 256; need 0 to 255", troika.Tensor, self.context, [256],
                     dtype="uint8")

    def test_labels_of_batches(self):
        inputs = numpy.zeros((2, 2))
        self.refused(ValueError, "targets: a number is 4294967296", troika.Batch.of, self.context, inputs, [2**32, 0])
        self.assertEqual(troika.Batch.of(self.context, inputs, numpy.array([1, 0])).labels.tolist(), [1, 0])
        self.assertEqual(troika.Batch.of(self.context, inputs, [[0.5], [1]]).values.tolist(), [[0.5], [1]])

    def test_indices_are_integers(self):
        data = points(self.context, 8)
        self.refused(TypeError, "indices: dtype is float64; need integers", data.subset, [1.7])
        self.refused(TypeError, "indices: dtype is bool; need integers, such as", data.subset, [True] * 8)
        self.assertEqual([len(data.subset(indices)) for indices in (range(3), numpy.array([7], numpy.uint8))], [3, 1])

    def test_labels_of_functions_may_have_any_type_of_integers(self):
        for dtype in (numpy.int64, numpy.uint8, bool):
            data = troika.Dataset.from_callback(
                self.context, lambda i, dtype=dtype: (i[:, None], (i % 2).astype(dtype)), (1,), n=4, classes=2)
            self.assertEqual(data.loader(batch=4).next().labels.tolist(), [0, 1, 0, 1])
