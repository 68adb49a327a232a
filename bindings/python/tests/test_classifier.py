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
