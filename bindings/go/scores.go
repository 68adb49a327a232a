package troika

/*
#include <troika/troika.h>
*/
import "C"

// ClassScores are scores of a class. NaN: does not apply.
type ClassScores struct {
	// Samples of the class, samples whose largest output is that of the class, and those of both.
	Labels, Predicted, Correct int64
	// Precision, recall, F1 and the area under the ROC curve.
	Precision, Recall, F1, AUC float64
}

// ScoreReport has the scores over all classes, those of each class, and the counts of
// [label, class that was found].
type ScoreReport struct {
	All       Scores
	Classes   []ClassScores
	Confusion []int64
}

// ComputeScores computes scores of outputs [n, classes] for labels [n]: logits, or probabilities.
// top is that of Scores.TopAccuracy. Errors: ErrInvalidArgument (a label that is no class, an
// output that is NaN), ErrOutOfMemory. Any goroutine.
func ComputeScores(outputs []float32, labels []int32, top int32, areLogits bool) (*ScoreReport, error) {
	if len(labels) == 0 || len(outputs)%len(labels) != 0 {
		return nil, refuse("%d outputs for %d labels, need as many for each", len(outputs), len(labels))
	}
	classes := len(outputs) / len(labels)
	values, targets := numbers[C.float](outputs), numbers[C.int32_t](labels)
	rows, confusion := make([]C.double, classes*C.TROIKA_SCORES_PER_CLASS+1), make([]C.int64_t, classes*classes+1)
	values = append(values, 0)
	all := defaultScores
	err := do(func(c *call) C.troika_status {
		return C.troika_scores_compute(&values[0], &targets[0], C.int64_t(len(labels)), C.int64_t(classes), C.int32_t(top),
			flag(areLogits), &all, &rows[0], &confusion[0], &c.error)
	})
	if err != nil {
		return nil, err
	}
	report := &ScoreReport{All: scoresOf(&all)}
	for c := 0; c < classes; c++ {
		row := numbers[float64](rows[c*C.TROIKA_SCORES_PER_CLASS : (c+1)*C.TROIKA_SCORES_PER_CLASS])
		report.Classes = append(report.Classes,
			ClassScores{int64(row[0]), int64(row[1]), int64(row[2]), row[3], row[4], row[5], row[6]})
	}
	report.Confusion = numbers[int64](confusion[:classes*classes])
	return report, nil
}
