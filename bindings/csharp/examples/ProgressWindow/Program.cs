using System;
using System.IO;
using System.Linq;
using System.Windows.Forms;
using Troika;

namespace ProgressWindow
{
    /// <summary>Trains LeNet in a window: ProgressWindow.exe [FOLDER] [--cancel-at PERCENT]. FOLDER
    /// has the files of Fashion-MNIST; without one the images are synthetic. With --cancel-at the
    /// program presses Cancel itself, and prints what the window showed.</summary>
    internal static class Program
    {
        private const long Epochs = 2;

        [STAThread]
        private static void Main(string[] arguments)
        {
            int robot = Array.IndexOf(arguments, "--cancel-at");
            string folder = arguments.FirstOrDefault(Directory.Exists);
            using (var context = new Context())
            using (Dataset images = folder == null
                ? Dataset.CreateSynthetic(context, new long[] { 1, 28, 28 }, 20000, 10)
                : Dataset.OpenDirectory(context, folder, "train"))
            using (var loader = new Loader(images, new LoaderOptions { Batch = 64, Shuffle = true }))
            using (Model model = Model.Create(context, "d2l_lenet"))
            using (Trainer trainer = Attach(model))
            using (var window = new TrainingWindow(trainer, loader, Epochs))
            {
                if (robot >= 0)
                    Robot.Watch(window, int.Parse(arguments[robot + 1]));
                Application.EnableVisualStyles();
                Application.Run(window);
            }
        }

        private static Trainer Attach(Model model)
        {
            model.Initialize(null, Initializer.XavierUniform);
            return model.Attach(new[] { Device.Cpu(0), Device.Cpu(1) }, new TrainerOptions { Momentum = 0.9 });
        }
    }
}
