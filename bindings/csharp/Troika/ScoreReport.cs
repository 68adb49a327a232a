using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Scores of a class. NaN: does not apply.</summary>
    public struct ClassScores
    {
        /// <summary>Samples of the class.</summary>
        public long Labels;

        /// <summary>Samples whose largest output is that of the class.</summary>
        public long Predicted;

        /// <summary>Those of both.</summary>
        public long Correct;

        /// <summary>Correct / Predicted.</summary>
        public double Precision;

        /// <summary>Correct / Labels.</summary>
        public double Recall;

        /// <summary>2 Correct / (Labels + Predicted).</summary>
        public double F1;

        /// <summary>The area under the ROC curve.</summary>
        public double Auc;

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text("ClassScores", ("Labels", Labels), ("Predicted", Predicted), ("Correct", Correct),
                ("Precision", Precision), ("Recall", Recall), ("F1", F1), ("Auc", Auc));
    }

    /// <summary>Scores of a classifier. Any thread.</summary>
    public sealed class ScoreReport
    {
        private ScoreReport(Scores all, ClassScores[] classes, long[] confusion)
        {
            All = all;
            Classes = classes;
            Confusion = confusion;
        }

        /// <summary>Scores over all classes.</summary>
        public Scores All { get; }

        /// <summary>Scores of each class.</summary>
        public IReadOnlyList<ClassScores> Classes { get; }

        /// <summary>Row i, column j has the samples of label i whose largest output is that of
        /// class j.</summary>
        public IReadOnlyList<long> Confusion { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text("ScoreReport", ("All", All), ("Classes", Classes), ("Confusion", Confusion));

        /// <summary>Computes scores of outputs [n, classes] for labels [n]: logits, or
        /// probabilities. <paramref name="top"/> is that of TopAccuracy.</summary>
        /// <exception cref="ArgumentException">The outputs are no rows.</exception>
        /// <exception cref="TroikaException">InvalidArgument for a label that is no class, and for
        /// NaN.</exception>
        public static unsafe ScoreReport Compute(float[] outputs, int[] labels, int top = 1, bool areLogits = true)
        {
            Argument.NotNull(outputs, "ScoreReport.Compute: outputs");
            Argument.NotNull(labels, "ScoreReport.Compute: labels");
            if (labels.Length == 0 || outputs.Length % labels.Length != 0)
                throw new ArgumentException("ScoreReport.Compute: " + outputs.Length + " outputs for " + labels.Length +
                                            " labels, need as many for each");
            Library.Load();
            int classes = outputs.Length / labels.Length;
            var rows = new double[classes * Library.ScoresPerClass + 1];
            var confusion = new long[classes * classes + 1];
            troika_scores raw = troika_scores.Default();
            fixed (float* values = outputs)
            fixed (int* targets = labels)
            fixed (double* numbers = rows)
            fixed (long* counts = confusion)
            {
                Status status = NativeMethods.troika_scores_compute(
                    values, targets, labels.Length, classes, top, areLogits ? 1 : 0, &raw, numbers, counts,
                    out troika_error error);
                TroikaException.ThrowIfFailed(status, ref error);
            }
            var found = new ClassScores[classes];
            for (int c = 0, at = 0; c < classes; c++, at += Library.ScoresPerClass)
            {
                found[c] = new ClassScores
                {
                    Labels = (long)rows[at], Predicted = (long)rows[at + 1], Correct = (long)rows[at + 2],
                    Precision = rows[at + 3], Recall = rows[at + 4], F1 = rows[at + 5], Auc = rows[at + 6],
                };
            }
            Array.Resize(ref confusion, classes * classes);
            return new ScoreReport(new Scores(&raw), found, confusion);
        }
    }
}
