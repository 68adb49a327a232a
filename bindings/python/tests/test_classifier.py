"""The classifier, alone and with scikit-learn if it is installed."""

import unittest

import numpy

import troika


def two_moons(n=200):
    """Points of two half circles, and their labels "upper" and "lower"."""
    angle = numpy.linspace(0, numpy.pi, n // 2)
    upper = numpy.stack([numpy.cos(angle), numpy.sin(angle)], axis=1)
    lower = numpy.stack([1 - numpy.cos(angle), 0.5 - numpy.sin(angle)], axis=1)
    return numpy.concatenate([upper, lower]), numpy.array(["upper"] * (n // 2) + ["lower"] * (n // 2))


class Classifiers(unittest.TestCase):
    def test_learns(self):
        inputs, labels = two_moons()
        classifier = troika.Classifier(epochs=60, batch_size=20, learning_rate=0.01)
        self.assertGreater(classifier.fit(inputs, labels).score(inputs, labels), 0.97)
        probabilities = classifier.predict_proba(inputs[:3])
        numpy.testing.assert_allclose(probabilities.sum(axis=1), 1)
        self.assertEqual(classifier.classes_.tolist(), ["lower", "upper"])
        self.assertEqual(len(classifier.history_), 60)

    def test_own_model_and_errors(self):
        def build(context, shape, classes):
            model = troika.Model.empty(context, "own")
            model.set_output(model.add_linear("fc", model.add_flatten("flat", model.add_input("x", shape)), classes))
            return model

        inputs, labels = two_moons(40)
        classifier = troika.Classifier(build, devices=["cpu:0", "cpu:1"], epochs=1, options={"weight_decay": 0.1})
        self.assertEqual(classifier.fit(inputs, labels).predict(inputs).shape, (40,))
        with self.assertRaisesRegex(ValueError, "not fitted"):
            troika.Classifier().predict(inputs)
        with self.assertRaisesRegex(ValueError, r"need \[n, features\]"):
            troika.Classifier().fit(inputs.ravel(), labels)
        with self.assertRaisesRegex(ValueError, "no parameter 'epoch'"):
            troika.Classifier().set_params(epoch=1)

    def test_inputs_of_another_shape_are_refused_in_the_shapes_of_the_user(self):
        inputs, labels = two_moons(40)
        classifier = troika.Classifier(epochs=1).fit(inputs, labels)
        with self.assertRaisesRegex(ValueError, r"^X is \[40, 1\]; need \[n, 2\]$"):
            classifier.predict(inputs[:, :1])
        images = troika.Classifier(epochs=1).fit(inputs.reshape(40, 1, 2, 1), labels)
        with self.assertRaisesRegex(ValueError, r"^X is \[40, 2\]; need \[n, 1, 2, 1\]$"):
            images.predict(inputs)
        with self.assertRaisesRegex(ValueError, r"^y is \[39\], X is \[40, 2\]; need 40 rows$"):
            classifier.fit(inputs, labels[1:])
        with self.assertRaisesRegex(TypeError, "X: dtype is complex128; need real numbers"):
            classifier.predict(inputs + 1j)

    def test_class_weight(self):
        inputs, labels = numpy.zeros((40, 2)), numpy.array(["often"] * 30 + ["rare"] * 10)

        def found(weights, options=None):
            classifier = troika.Classifier(epochs=200, batch_size=40, learning_rate=0.05, class_weight=weights,
                                           options=options)
            return classifier.fit(inputs, labels).predict_proba(inputs[:1])[0, 1]

        self.assertAlmostEqual(found(None), 0.25, places=2)
        self.assertAlmostEqual(found("balanced"), 0.5, places=2)
        self.assertAlmostEqual(found({"rare": 6}), 60 / 90, places=2)
        self.assertAlmostEqual(found(None, {"class_weights": [1, 6]}), 60 / 90, places=2)

    def test_class_weight_is_checked(self):
        inputs, labels = two_moons(40)
        for weights, text in ((5, "class_weight is 5; need a dictionary, 'balanced' or None"),
                              ("even", "class_weight is 'even'"),
                              ({"uper": 2}, r"class_weight has \['uper'\]; need labels of y: \['lower', 'upper'\]")):
            with self.assertRaisesRegex(ValueError, text):
                troika.Classifier(epochs=1, class_weight=weights).fit(inputs, labels)
        whole = {"lower": 1, "upper": 2, "absent": 3}  # the part of a search may lack a class
        classifier = troika.Classifier(epochs=1, class_weight=whole).fit(inputs, labels)
        self.assertEqual(classifier.get_params()["class_weight"], whole)

    def test_sample_weight(self):
        inputs, labels = numpy.zeros((40, 2)), numpy.array(["a", "b"] * 20)
        weights = numpy.where(labels == "b", 3.0, 1.0)
        classifier = troika.Classifier(epochs=200, batch_size=40, learning_rate=0.05)
        classifier.fit(inputs, labels, sample_weight=weights)
        self.assertAlmostEqual(classifier.predict_proba(inputs[:1])[0, 1], 0.75, places=2)
        self.assertEqual((classifier.score(inputs, labels), classifier.score(inputs, labels, weights)), (0.5, 0.75))
        with self.assertRaisesRegex(ValueError, r"sample_weight is \[39\], X is \[40, 2\]; need 40 rows"):
            classifier.fit(inputs, labels, weights[1:])

    def test_scikit_learn(self):
        try:
            from sklearn.base import clone  # pylint: disable=import-outside-toplevel
            from sklearn.model_selection import KFold, cross_val_score  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("scikit-learn is not installed")
        inputs, labels = two_moons()
        classifier = clone(troika.Classifier(epochs=30, batch_size=20, learning_rate=0.01))
        self.assertGreater(cross_val_score(classifier, inputs, labels, cv=KFold(3, shuffle=True, random_state=0)).mean(), 0.8)

    def test_metrics_are_rows_of_a_table(self):
        try:
            import pandas  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("pandas is not installed")
        inputs, labels = two_moons(40)
        table = pandas.DataFrame(troika.Classifier(epochs=3).fit(inputs, labels).history_)
        self.assertEqual((len(table), table["samples"].tolist()), (3, [40] * 3))
