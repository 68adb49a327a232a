// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Scores over all classes. Filled by ScoreReport.Compute. NaN: does not
    /// apply.</summary>
    public sealed partial class Scores
    {
        internal unsafe Scores(troika_scores* raw)
        {
            Top = raw->top;
            N = raw->n;
            Accuracy = raw->accuracy;
            TopAccuracy = raw->top_accuracy;
            Precision = raw->precision;
            Recall = raw->recall;
            F1 = raw->f1;
            Auc = raw->auc;
        }

        /// <summary>The argument top.</summary>
        public int Top { get; }

        /// <summary>Samples.</summary>
        public long N { get; }

        /// <summary>Samples whose largest output is that of their label, of all.</summary>
        public double Accuracy { get; }

        /// <summary>Samples whose label is among the top largest outputs, of all.</summary>
        public double TopAccuracy { get; }

        /// <summary>Mean over the classes to which precision applies.</summary>
        public double Precision { get; }

        /// <summary>Mean over the classes to which recall applies.</summary>
        public double Recall { get; }

        /// <summary>Mean over the classes to which F1 applies.</summary>
        public double F1 { get; }

        /// <summary>Mean over the classes to which AUC applies.</summary>
        public double Auc { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "Scores", ("Top", Top), ("N", N), ("Accuracy", Accuracy),
                ("TopAccuracy", TopAccuracy), ("Precision", Precision), ("Recall", Recall),
                ("F1", F1), ("Auc", Auc));
    }
}
