using System;
using System.Drawing;
using System.Threading;
using System.Windows.Forms;
using Troika;

namespace ProgressWindow
{
    /// <summary>Shows how training goes on, and lets the user cancel it. The trainer works on a
    /// thread of its own, so the window answers all the time.</summary>
    internal sealed class TrainingWindow : Form
    {
        private readonly Trainer trainer;
        private readonly Loader loader;
        private readonly long epochs;
        private readonly CancellationTokenSource cancellation = new CancellationTokenSource();
        private readonly ProgressBar bar = new ProgressBar { Dock = DockStyle.Fill, Maximum = 1000 };
        private readonly Label loss = new Label { AutoSize = true, Text = "Compiling ..." };
        private readonly Button cancel = new Button { Anchor = AnchorStyles.Right, AutoSize = true, Text = "Cancel" };
        private bool isTraining = true;

        internal TrainingWindow(Trainer trainer, Loader loader, long epochs)
        {
            this.trainer = trainer;
            this.loader = loader;
            this.epochs = epochs;
            Text = "Training " + trainer.Model.Info.Name;
            ClientSize = new Size(420, 120);
            MinimumSize = Size;
            StartPosition = FormStartPosition.CenterScreen;
            var rows = new TableLayoutPanel { ColumnCount = 1, Dock = DockStyle.Fill, Padding = new Padding(12) };
            rows.RowStyles.Add(new RowStyle(SizeType.AutoSize));
            rows.RowStyles.Add(new RowStyle(SizeType.Absolute, 32));
            rows.RowStyles.Add(new RowStyle(SizeType.AutoSize));
            rows.Controls.Add(loss);
            rows.Controls.Add(bar);
            rows.Controls.Add(cancel);
            Controls.Add(rows);
            CancelButton = cancel;
            cancel.Click += (sender, e) => Cancel();
        }

        /// <summary>What the window says about the loss.</summary>
        internal string LossText => loss.Text;

        /// <summary>The part that is done, from 0 to 1.</summary>
        internal double Done => (double)bar.Value / bar.Maximum;

        /// <summary>Presses the button, as the user does.</summary>
        internal void PressCancel() => cancel.PerformClick();

        protected override async void OnShown(EventArgs e)
        {
            base.OnShown(e);
            // Created on this thread, it reports on this thread.
            var progress = new Progress<Progress>(ShowProgress);
            try
            {
                Metrics metrics = null;
                for (long epoch = 0; epoch < epochs; ++epoch)
                    metrics = await trainer.TrainEpochAsync(loader, progress, cancellation.Token);
                loss.Text = string.Format("Done: loss {0:F4}, accuracy {1:P1}", metrics.Loss, metrics.Accuracy);
            }
            catch (OperationCanceledException)
            {
                loss.Text = string.Format("Canceled after {0} steps", trainer.Info.Step);
            }
            catch (TroikaException failure)
            {
                loss.Text = failure.Message;
            }
            isTraining = false;
            cancel.Enabled = true;
            cancel.Text = "Close";
        }

        /// <summary>A window that is closed during training stays until the trainer has
        /// stopped.</summary>
        protected override void OnFormClosing(FormClosingEventArgs e)
        {
            base.OnFormClosing(e);
            if (!isTraining)
                return;
            e.Cancel = true;
            Cancel();
        }

        private void Cancel()
        {
            if (!isTraining)
            {
                Close();
                return;
            }
            cancel.Enabled = false;
            cancellation.Cancel();
        }

        private void ShowProgress(Progress progress)
        {
            if (!isTraining || cancellation.IsCancellationRequested)
                return;
            double done = (progress.Epoch + (double)progress.Batch / progress.Batches) / epochs;
            bar.Value = (int)(done * bar.Maximum);
            loss.Text = string.Format("Epoch {0} of {1}: loss {2:F4}", progress.Epoch + 1, epochs, progress.Loss);
        }
    }
}
