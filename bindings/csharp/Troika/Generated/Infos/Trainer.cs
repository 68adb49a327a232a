// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Memory of one replica in bytes. Filled by Trainer.Memory.</summary>
    public sealed partial class MemoryInfo
    {
        internal unsafe MemoryInfo(troika_memory_info* raw)
        {
            Plans = raw->plans;
            ArenaBytes = raw->arena_bytes;
            ParameterBytes = raw->parameter_bytes;
            GradientBytes = raw->gradient_bytes;
            OptimizerBytes = raw->optimizer_bytes;
            SampleBytes = raw->sample_bytes;
        }

        /// <summary>Compiled plans: one per mode and batch size. At most 16 are kept.</summary>
        public int Plans { get; }

        /// <summary>Activations, their gradients and scratch, shared by all plans.</summary>
        public long ArenaBytes { get; }

        /// <summary>Parameters, buffers, and copies of parameters in 16 bits.</summary>
        public long ParameterBytes { get; }

        /// <summary>Gradients of parameters; twice after sums over passes.</summary>
        public long GradientBytes { get; }

        /// <summary>Optimizer state.</summary>
        public long OptimizerBytes { get; }

        /// <summary>Datasets that the device keeps (SamplesOnHost).</summary>
        public long SampleBytes { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "MemoryInfo", ("Plans", Plans), ("ArenaBytes", ArenaBytes),
                ("ParameterBytes", ParameterBytes), ("GradientBytes", GradientBytes),
                ("OptimizerBytes", OptimizerBytes), ("SampleBytes", SampleBytes));
    }

    /// <summary>Sums over many batches. Filled by calls that train on or evaluate the batches of a
    /// loader.</summary>
    public sealed partial class Metrics
    {
        internal unsafe Metrics(troika_metrics* raw)
        {
            Loss = raw->loss;
            Accuracy = raw->accuracy;
            Samples = raw->samples;
            Correct = raw->correct;
            Seconds = raw->seconds;
            Labels = raw->labels;
            SkippedSteps = raw->skipped_steps;
        }

        /// <summary>Mean over all labels, by weight.</summary>
        public double Loss { get; }

        /// <summary>correct / labels.</summary>
        public double Accuracy { get; }

        /// <summary>Samples seen.</summary>
        public long Samples { get; }

        /// <summary>Labels whose largest output is the label's own.</summary>
        public long Correct { get; }

        /// <summary>Wall-clock time.</summary>
        public double Seconds { get; }

        /// <summary>Labels seen that are not ignored; samples for other losses.</summary>
        public long Labels { get; }

        /// <summary>Steps that were skipped (Status.StepSkipped); 0 of an evaluation.</summary>
        public long SkippedSteps { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "Metrics", ("Loss", Loss), ("Accuracy", Accuracy), ("Samples", Samples),
                ("Correct", Correct), ("Seconds", Seconds), ("Labels", Labels),
                ("SkippedSteps", SkippedSteps), ("Status", Status));
    }

    /// <summary>The progress after a batch, as a progress callback receives it.</summary>
    public sealed partial class Progress
    {
        internal unsafe Progress(troika_progress* raw)
        {
            Batch = raw->batch;
            Batches = raw->batches;
            Epoch = raw->epoch;
            Samples = raw->samples;
            Correct = raw->correct;
            Loss = raw->loss;
            Seconds = raw->seconds;
            Training = raw->training == 1;
            Skipped = raw->skipped == 1;
            BatchLoss = raw->batch_loss;
            BatchSamples = raw->batch_samples;
            BatchCorrect = raw->batch_correct;
            LearningRate = raw->learning_rate;
            Labels = raw->labels;
            BatchLabels = raw->batch_labels;
            WaitSeconds = raw->wait_seconds;
        }

        /// <summary>Batches of this epoch that are done.</summary>
        public long Batch { get; }

        /// <summary>Batches in the epoch; see LoaderPosition for streams.</summary>
        public long Batches { get; }

        /// <summary>Epoch of the loader, from 0.</summary>
        public long Epoch { get; }

        /// <summary>Samples done in this call.</summary>
        public long Samples { get; }

        /// <summary>Those of labels that were classified correctly.</summary>
        public long Correct { get; }

        /// <summary>Mean over the labels of this call, by weight.</summary>
        public double Loss { get; }

        /// <summary>Since the call began.</summary>
        public double Seconds { get; }

        /// <summary>true while training, false while evaluating or predicting.</summary>
        public bool Training { get; }

        /// <summary>true: this batch's step was skipped (Status.StepSkipped). If the loss of the
        /// batch is then not finite, the sums over this call leave the batch out.</summary>
        public bool Skipped { get; }

        /// <summary>Mean over the labels of this batch, by weight.</summary>
        public double BatchLoss { get; }

        /// <summary>Samples of this batch.</summary>
        public long BatchSamples { get; }

        /// <summary>Those of BatchLabels that were classified correctly.</summary>
        public long BatchCorrect { get; }

        /// <summary>The trainer's rate that this step used; 0 while evaluating.</summary>
        public double LearningRate { get; }

        /// <summary>Labels done in this call that are not ignored; samples for other
        /// losses.</summary>
        public long Labels { get; }

        /// <summary>Those of labels that belong to this batch.</summary>
        public long BatchLabels { get; }

        /// <summary>Seconds of this step in which the devices of this process waited for others:
        /// those of the device that waited least. Without a group the others are the trainer's own.
        /// The process that waits least is the one that the others wait for. 0 with devices that
        /// run ahead of the host (GPUs), and while evaluating.</summary>
        public double WaitSeconds { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "Progress", ("Batch", Batch), ("Batches", Batches), ("Epoch", Epoch),
                ("Samples", Samples), ("Correct", Correct), ("Loss", Loss), ("Seconds", Seconds),
                ("Training", Training), ("Skipped", Skipped), ("BatchLoss", BatchLoss),
                ("BatchSamples", BatchSamples), ("BatchCorrect", BatchCorrect),
                ("LearningRate", LearningRate), ("Labels", Labels), ("BatchLabels", BatchLabels),
                ("WaitSeconds", WaitSeconds));
    }

    /// <summary>The result of a step. Filled by Trainer.Step.</summary>
    public sealed partial class StepResult
    {
        internal unsafe StepResult(troika_step_result* raw)
        {
            Loss = raw->loss;
            Samples = raw->samples;
            Correct = raw->correct;
            Step = raw->step;
            LearningRate = raw->learning_rate;
            Seconds = raw->seconds;
            LossScale = raw->loss_scale;
            GradientNorm = raw->gradient_norm;
            Labels = raw->labels;
        }

        /// <summary>Loss of the batch before the update: mean or sum, by reduction.</summary>
        public double Loss { get; }

        /// <summary>Samples in the batch.</summary>
        public long Samples { get; }

        /// <summary>Those of labels whose largest output is the label's own; 0 for other losses. A
        /// label whose outputs are not numbers is not correct.</summary>
        public long Correct { get; }

        /// <summary>Steps done, including this one.</summary>
        public long Step { get; }

        /// <summary>The trainer's rate that this step used; groups may have others.</summary>
        public double LearningRate { get; }

        /// <summary>Wall-clock time of the step.</summary>
        public double Seconds { get; }

        /// <summary>The loss scale that this step used; 1 without loss scaling.</summary>
        public double LossScale { get; }

        /// <summary>The 2-norm of all gradients together before clipping; not finite if one of them
        /// is not. 0 without MaxGradientNorm.</summary>
        public double GradientNorm { get; }

        /// <summary>Labels that are not ignored, over which the mean is computed; samples for other
        /// losses.</summary>
        public long Labels { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "StepResult", ("Loss", Loss), ("Samples", Samples), ("Correct", Correct),
                ("Step", Step), ("LearningRate", LearningRate), ("Seconds", Seconds),
                ("LossScale", LossScale), ("GradientNorm", GradientNorm), ("Labels", Labels),
                ("Status", Status));
    }
}
