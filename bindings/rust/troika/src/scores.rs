//! Scores of a classifier.

use crate::call::describe;
use crate::{Result, Scores};
use troika_sys as sys;

/// Scores of a class. NaN: does not apply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassScores {
    /// Samples of the class.
    pub labels: i64,
    /// Samples whose largest output is that of the class.
    pub predicted: i64,
    /// Those of both.
    pub correct: i64,
    /// correct / predicted
    pub precision: f64,
    /// correct / labels
    pub recall: f64,
    /// 2 correct / (labels + predicted)
    pub f1: f64,
    /// The area under the ROC curve.
    pub auc: f64,
}

/// Scores over all classes, of each class, and the counts of \[label, class that was found\].
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreReport {
    /// Scores over all classes.
    pub all: Scores,
    /// Scores of each class.
    pub classes: Vec<ClassScores>,
    /// Row i, column j has the samples of label i whose largest output is that of class j.
    pub confusion: Vec<i64>,
}

impl ScoreReport {
    /// Computes scores of `outputs` \[n, classes\] for `labels` \[n\]: logits, or probabilities.
    /// `top` is that of [`Scores::top_accuracy`].
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): outputs that are no rows, a label that
    /// is no class, NaN.
    pub fn compute(outputs: &[f32], labels: &[i32], top: i32, are_logits: bool) -> Result<Self> {
        let n = labels.len().max(1);
        if outputs.len() % n != 0 || labels.is_empty() {
            let (numbers, labels) = (outputs.len(), labels.len());
            let message = format!("{numbers} outputs for {labels} labels, need as many for each");
            return Err(crate::Error::invalid(message));
        }
        let classes = outputs.len() / n;
        let number = classes as i64;
        let per_class = sys::TROIKA_SCORES_PER_CLASS as usize;
        let (mut rows, mut confusion) =
            (vec![0.0; classes * per_class], vec![0; classes * classes]);
        let all = describe(|scores, error| unsafe {
            sys::troika_scores_compute(
                outputs.as_ptr(),
                labels.as_ptr(),
                n as i64,
                number,
                top,
                are_logits.into(),
                scores,
                rows.as_mut_ptr(),
                confusion.as_mut_ptr(),
                error,
            )
        })?;
        let classes = rows
            .chunks(per_class)
            .map(|row| ClassScores {
                labels: row[0] as i64,
                predicted: row[1] as i64,
                correct: row[2] as i64,
                precision: row[3],
                recall: row[4],
                f1: row[5],
                auc: row[6],
            })
            .collect();
        Ok(Self { all, classes, confusion })
    }
}
