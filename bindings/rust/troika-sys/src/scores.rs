// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;

/// Numbers per class of [`troika_scores_compute`](crate::troika_scores_compute).
pub const TROIKA_SCORES_PER_CLASS: i32 = 7;

/// Scores over all classes. Filled by [`troika_scores_compute`](crate::troika_scores_compute). NaN:
/// does not apply.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_scores {
    /// Set by the caller to sizeof([`troika_scores`](crate::troika_scores)).
    pub struct_size: u32,
    /// The argument top.
    pub top: i32,
    /// Samples.
    pub n: i64,
    /// Samples whose largest output is that of their label, of all.
    pub accuracy: f64,
    /// Samples whose label is among the top largest outputs, of all.
    pub top_accuracy: f64,
    /// Mean over the classes to which precision applies.
    pub precision: f64,
    /// Mean over the classes to which recall applies.
    pub recall: f64,
    /// Mean over the classes to which F1 applies.
    pub f1: f64,
    /// Mean over the classes to which AUC applies.
    pub auc: f64,
}

extern "C" {
    /// Fills scores as `TROIKA_SCORES_INIT` does. Any thread.
    pub fn troika_scores_init(scores: *mut troika_scores, struct_size: u32);

    /// Computes scores of n samples. outputs is f32 \[n, classes\], labels i32 \[n\]: logits if
    /// `are_logits` is 1, else probabilities. Among equal outputs of a sample the first counts as
    /// the largest. top is 1 to classes.
    ///
    /// `class_scores`, if not NULL, receives \[classes,
    /// [`TROIKA_SCORES_PER_CLASS`](crate::TROIKA_SCORES_PER_CLASS)\] numbers. A row has, in this
    /// order, with NaN for a score that does not apply because nothing is there to divide by:
    ///
    /// - labels: the samples of the class.
    /// - predicted: the samples whose largest output is that of the class.
    /// - correct: those of both.
    /// - precision: correct / predicted.
    /// - recall: correct / labels, the accuracy of the class.
    /// - F1: 2 correct / (labels + predicted).
    /// - AUC: the area under the ROC curve of the class against all others (Mann and Whitney 1947).
    ///   It is the share of pairs of a sample of the class and another sample in which the first
    ///   has the larger probability of the class. Equal ones count half.
    ///
    /// confusion, if not NULL, receives \[classes, classes\] counts: row i, column j has the
    /// samples of label i whose largest output is that of class j.
    ///
    /// Errors: INVALID_ARGUMENT (n below 1, classes outside 2 to 2^20, top, `are_logits`, a label
    /// that is no class, an output that is NaN, `struct_size`), OUT_OF_MEMORY. Any thread.
    pub fn troika_scores_compute(
        outputs: *const f32,
        labels: *const i32,
        n: i64,
        classes: i64,
        top: i32,
        are_logits: i32,
        out_scores: *mut troika_scores,
        class_scores: *mut f64,
        confusion: *mut i64,
        error: *mut troika_error,
    ) -> troika_status;
}
