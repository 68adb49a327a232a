// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills scores as TROIKA_SCORES_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_scores_init(troika_scores* scores, uint struct_size);

        /// <summary>Computes scores of n samples. outputs is f32 [n, classes], labels i32 [n]:
        /// logits if are_logits is 1, else probabilities. Among equal outputs of a sample the first
        /// counts as the largest. top is 1 to classes.</summary>
        /// <remarks>
        /// <para>class_scores, if not NULL, receives [classes, TROIKA_SCORES_PER_CLASS] numbers. A
        /// row has, in this order, with NaN for a score that does not apply because nothing is
        /// there to divide by:</para>
        /// <para>- labels: the samples of the class.</para>
        /// <para>- predicted: the samples whose largest output is that of the class.</para>
        /// <para>- correct: those of both.</para>
        /// <para>- precision: correct / predicted.</para>
        /// <para>- recall: correct / labels, the accuracy of the class.</para>
        /// <para>- F1: 2 correct / (labels + predicted).</para>
        /// <para>- AUC: the area under the ROC curve of the class against all others (Mann and
        /// Whitney 1947). It is the share of pairs of a sample of the class and another sample in
        /// which the first has the larger probability of the class. Equal ones count half.</para>
        /// <para>confusion, if not NULL, receives [classes, classes] counts: row i, column j has
        /// the samples of label i whose largest output is that of class j.</para>
        /// <para>Errors: INVALID_ARGUMENT (n below 1, classes outside 2 to 2^20, top, are_logits, a
        /// label that is no class, an output that is NaN, struct_size), OUT_OF_MEMORY. Any
        /// thread.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_scores_compute(
            float* outputs, int* labels, long n, long classes, int top, int are_logits,
            troika_scores* out_scores, double* class_scores, long* confusion,
            out troika_error error);
    }
}
