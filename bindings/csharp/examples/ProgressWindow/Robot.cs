using System;
using System.Globalization;
using System.Windows.Forms;

namespace ProgressWindow
{
    /// <summary>Uses the window as a person does, and prints what it showed. It looks at the window
    /// 50 times per second. Its looks are late if the window does not answer.</summary>
    internal sealed class Robot
    {
        private readonly TrainingWindow window;
        private readonly double part;
        private readonly Timer timer = new Timer { Interval = 20 };
        private DateTime last = DateTime.MaxValue;
        private double longestGap;
        private string before = "";
        private bool hasPressed;

        private Robot(TrainingWindow window, double part)
        {
            this.window = window;
            this.part = part;
            timer.Tick += (sender, e) => Look();
            window.Shown += (sender, e) => timer.Start();
        }

        /// <summary>Presses Cancel when this part of the training is done.</summary>
        internal static void Watch(TrainingWindow window, int percent) => new Robot(window, percent / 100.0);

        private void Look()
        {
            DateTime now = DateTime.UtcNow;
            longestGap = Math.Max(longestGap, (now - last).TotalMilliseconds);
            last = now;
            if (!hasPressed && window.Done >= part)
            {
                before = window.LossText;
                hasPressed = true;
                window.PressCancel();
            }
            if (!window.LossText.StartsWith("Canceled"))
                return;
            timer.Stop();
            CultureInfo plain = CultureInfo.InvariantCulture;
            Console.WriteLine("before: {0}", before);
            Console.WriteLine("done: {0}", window.Done.ToString("F2", plain));
            Console.WriteLine("after: {0}", window.LossText);
            Console.WriteLine("longest gap: {0} ms", longestGap.ToString("F0", plain));
            window.PressCancel();
        }
    }
}
