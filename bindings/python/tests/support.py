"""Small models and datasets for the tests."""

import unittest

import numpy

import troika


class Case(unittest.TestCase):
    """A test with a context of its own."""

    def setUp(self):
        self.context = troika.Context()

    def refused(self, kind, text, function, *arguments, **options):
        """Checks that a call raises an error of one line, in which a pattern occurs. Returns the error."""
        with self.assertRaisesRegex(kind, text) as caught:
            function(*arguments, **options)
        self.assertEqual(str(caught.exception).count("\n"), 0)
        return caught.exception


def points(context, n=64, seed=0):
    """n points of two classes in the plane, which a line divides, and their labels."""
    numbers = numpy.random.default_rng(seed)
    inputs = numbers.uniform(-1, 1, (n, 2)).astype(numpy.float32)
    labels = (inputs.sum(axis=1) > 0).astype(numpy.int32)
    return troika.Dataset.from_arrays(context, inputs, labels)


def line(context, outputs=2):
    """A model of one linear layer, [2] to [outputs]."""
    model = troika.Model.empty(context, "line")
    model.set_output(model.add_linear("fc", model.add_input("x", (2,)), outputs))
    return model


def small_mlp(context):
    """An mlp on images of 4 x 4, and 32 of them."""
    model = troika.Model(context, "mlp", classes=3, input_channels=1, input_height=4, hidden=8)
    return model, troika.Dataset.synthetic(context, (1, 4, 4), n=32, classes=3)
