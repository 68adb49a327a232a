// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// Scores over all classes. Filled by [`ScoreReport::compute`](crate::ScoreReport::compute). NaN:
/// does not apply.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scores {
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

impl Struct for Scores {
    type Raw = sys::troika_scores;

    fn init() -> Self::Raw {
        initialized(sys::troika_scores_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            top: raw.top,
            n: raw.n,
            accuracy: raw.accuracy,
            top_accuracy: raw.top_accuracy,
            precision: raw.precision,
            recall: raw.recall,
            f1: raw.f1,
            auc: raw.auc,
        })
    }
}
