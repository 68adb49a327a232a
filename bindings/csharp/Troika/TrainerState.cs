using Troika.Native;

namespace Troika
{
    // The state of a trainer: settings, parameters and gradients, a step in pieces, and its files.
    public sealed partial class Trainer
    {
        /// <summary>Sets the base learning rate from the next step on. <paramref name="group"/> is
        /// an index into the groups of the options, or -1 for the trainer.</summary>
        public void SetLearningRate(double learningRate, int group = -1)
        {
            Status status = NativeMethods.troika_trainer_set_learning_rate(
                Handle, group, learningRate, out troika_error error);
            Check(status, ref error);
        }

        /// <summary>Returns the learning rate of the next step, with schedule and
        /// warm-up.</summary>
        public double GetLearningRate(int group = -1)
        {
            Status status = NativeMethods.troika_trainer_get_learning_rate(
                Handle, group, out double learningRate, out troika_error error);
            Check(status, ref error);
            return learningRate;
        }

        /// <summary>Sets an option from the next step on. <paramref name="group"/> is an index into
        /// the groups of the options, or -1 for the trainer.</summary>
        /// <exception cref="TroikaException">InvalidArgument: no such group, or a value out of
        /// range.</exception>
        public void SetOption(Option option, double value, int group = -1)
        {
            Status status = NativeMethods.troika_trainer_set_option(
                Handle, group, (int)option, value, out troika_error error);
            Check(status, ref error);
        }

        /// <summary>Returns the value of an option.</summary>
        public double GetOption(Option option, int group = -1)
        {
            Status status = NativeMethods.troika_trainer_get_option(
                Handle, group, (int)option, out double value, out troika_error error);
            Check(status, ref error);
            return value;
        }

        /// <summary>Reports a metric to a trainer with <see cref="Schedule.Plateau"/>. The learning
        /// rate may fall.</summary>
        public void ReportMetric(double metric) =>
            Check(NativeMethods.troika_trainer_report_metric(Handle, metric, out troika_error error), ref error);

        /// <summary>Returns the parameter, f32, that the replica on a device holds.</summary>
        /// <exception cref="TroikaException">NotFound, or NotOnDevice, which names the
        /// devices.</exception>
        public float[] GetParameter(string name, Device device)
        {
            var data = new float[Model.CountElements(name, Dtype.F32, "Trainer.GetParameter")];
            GetParameter(name, device, data);
            return data;
        }

        /// <summary>Copies the parameter, f32, that the replica on a device holds, into an array of
        /// its size.</summary>
        public unsafe void GetParameter(string name, Device device, float[] data)
        {
            Argument.NotNull(data, "Trainer.GetParameter: data");
            Model.CountElements(name, Dtype.F32, "Trainer.GetParameter");
            fixed (float* to = data)
                GetParameter(name, device, to, data.LongLength * sizeof(float));
        }

        /// <summary>Copies the buffer of i64, num_batches_tracked, that the replica on a device
        /// holds.</summary>
        public unsafe void GetParameter(string name, Device device, long[] data)
        {
            Argument.NotNull(data, "Trainer.GetParameter: data");
            Model.CountElements(name, Dtype.I64, "Trainer.GetParameter");
            fixed (long* to = data)
                GetParameter(name, device, to, data.LongLength * sizeof(long));
        }

        /// <summary>Returns the gradient of the last step in the parameter's shape, summed over all
        /// devices.</summary>
        /// <exception cref="TroikaException">NotFound, or NotInitialized: frozen, or no step
        /// yet.</exception>
        public float[] GetGradient(string name)
        {
            var data = new float[Model.CountElements(name, Dtype.F32, "Trainer.GetGradient")];
            GetGradient(name, data);
            return data;
        }

        /// <summary>Copies the gradient of the last step into an array of its size.</summary>
        public unsafe void GetGradient(string name, float[] data)
        {
            Argument.NotNull(data, "Trainer.GetGradient: data");
            byte[] text = Utf8.Bytes(name, "Trainer.GetGradient: name");
            fixed (float* to = data)
            {
                Status status = NativeMethods.troika_trainer_get_gradient(
                    Handle, text, to, data.LongLength * sizeof(float), out troika_error error);
                Check(status, ref error);
            }
        }

        /// <summary>Replaces the gradient of a parameter on all devices, until apply or the next
        /// backward pass.</summary>
        public unsafe void SetGradient(string name, float[] data)
        {
            Argument.NotNull(data, "Trainer.SetGradient: data");
            byte[] text = Utf8.Bytes(name, "Trainer.SetGradient: name");
            fixed (float* from = data)
            {
                Status status = NativeMethods.troika_trainer_set_gradient(
                    Handle, text, from, data.LongLength * sizeof(float), out troika_error error);
                Check(status, ref error);
            }
        }

        /// <summary>Copies the gradient of the inputs of the last backward pass into an array of
        /// the batch's size. Needs <see cref="ForwardOptions.InputGradient"/>.</summary>
        public unsafe void GetInputGradient(float[] data)
        {
            Argument.NotNull(data, "Trainer.GetInputGradient: data");
            fixed (float* to = data)
            {
                Status status = NativeMethods.troika_trainer_get_input_gradient(
                    Handle, to, data.LongLength * sizeof(float), out troika_error error);
                Check(status, ref error);
            }
        }

        /// <summary>Runs the forward pass of a step. Returns the output, f32 [batch, ...], on the
        /// first device, and the loss. After <see cref="RequestStop"/> the output is null, and the
        /// status of the result is Stopped.</summary>
        public unsafe (Tensor Output, StepResult Result) Forward(Batch batch, ForwardOptions options = null)
        {
            BatchHandle of = Argument.NotNull(batch, "Trainer.Forward: batch").Handle;
            using (var scope = new NativeScope())
            {
                troika_forward_options raw;
                (options ?? new ForwardOptions()).WriteTo(&raw, scope);
                troika_step_result result = troika_step_result.Default();
                Status status = NativeMethods.troika_trainer_forward(
                    Handle, of, &raw, out TensorHandle output, &result, out troika_error error);
                Check(status, ref error);
                Tensor made = status == Status.Ok ? new Tensor(output, Context) : null;
                return (made, new StepResult(&result) { Status = status });
            }
        }

        /// <summary>Runs the backward pass of the last forward pass, and adds to the gradients
        /// since the last apply. With <see cref="ForwardOptions.OwnLoss"/> it takes the gradient of
        /// the host's loss with respect to the output.</summary>
        /// <exception cref="TroikaException">NotInitialized: no forward pass, or its activations
        /// are no longer there.</exception>
        public void Backward(Tensor outputGradient = null)
        {
            // An empty handle is NULL for the library.
            TensorHandle gradient = outputGradient == null ? new TensorHandle() : outputGradient.Handle;
            Check(NativeMethods.troika_trainer_backward(Handle, gradient, out troika_error error), ref error);
        }

        /// <summary>Updates the parameters with the gradients, as a step does. The status of the
        /// result is StepSkipped if a gradient was not finite.</summary>
        /// <exception cref="TroikaException">NotInitialized: no backward pass since the last
        /// apply.</exception>
        public unsafe StepResult Apply()
        {
            troika_step_result result = troika_step_result.Default();
            Status status = NativeMethods.troika_trainer_apply(Handle, &result, out troika_error error);
            Check(status, ref error);
            return new StepResult(&result) { Status = status };
        }

        /// <summary>Compares parameters and optimizer state of all replicas bit by bit.</summary>
        /// <exception cref="TroikaException">Mismatch, which names parameter and
        /// devices.</exception>
        public void CheckReplicas() =>
            Check(NativeMethods.troika_trainer_check_replicas(Handle, out troika_error error), ref error);

        /// <summary>Writes a training state, from which training resumes bit for bit.
        /// Atomic.</summary>
        /// <exception cref="TroikaException">Io.</exception>
        public void Save(string path)
        {
            byte[] text = Utf8.Bytes(path, "Trainer.Save: path");
            Check(NativeMethods.troika_trainer_save(Handle, text, out troika_error error), ref error);
        }

        /// <summary>Writes a training state with options: several files, or in the background. An
        /// error in the background comes back from the next call, or from
        /// <see cref="WaitSave"/>.</summary>
        public unsafe void SaveWith(string path, SaveOptions options)
        {
            byte[] text = Utf8.Bytes(path, "Trainer.SaveWith: path");
            Argument.NotNull(options, "Trainer.SaveWith: options");
            using (var scope = new NativeScope())
            {
                troika_save_options raw;
                options.WriteTo(&raw, scope);
                Check(NativeMethods.troika_trainer_save_with(Handle, text, &raw, out troika_error error), ref error);
            }
        }

        /// <summary>Waits until no file is being written in the background. Throws its
        /// error.</summary>
        public void WaitSave() =>
            Check(NativeMethods.troika_trainer_wait_save(Handle, out troika_error error), ref error);

        /// <summary>Writes a model file with the moving averages of the parameters. Needs
        /// <see cref="TrainerOptions.AverageDecay"/>.</summary>
        public void SaveAverage(string path)
        {
            byte[] text = Utf8.Bytes(path, "Trainer.SaveAverage: path");
            Check(NativeMethods.troika_trainer_save_average(Handle, text, out troika_error error), ref error);
        }

        /// <summary>Reads a training state, and returns the place in the epoch for
        /// <see cref="Loader.Seek"/>. If the next batch of a loader that is moved there has other
        /// samples than the state's, a step refuses it with InvalidArgument. A loader that is not
        /// moved is not compared: its batches are at another place. A refused file changes
        /// nothing.</summary>
        /// <exception cref="TroikaException">NotFound, Io, Corrupt, or Mismatch, which names the
        /// first difference.</exception>
        public unsafe LoaderPosition Load(string path)
        {
            byte[] text = Utf8.Bytes(path, "Trainer.Load: path");
            troika_loader_position position = troika_loader_position.Default();
            Check(NativeMethods.troika_trainer_load(Handle, text, &position, out troika_error error), ref error);
            return new LoaderPosition(&position);
        }

        /// <summary>Reads a training state as <see cref="Load"/> does, and leaves the order of the
        /// next samples to the caller: no batch is compared.</summary>
        public unsafe void LoadInAnyOrder(string path)
        {
            byte[] text = Utf8.Bytes(path, "Trainer.LoadInAnyOrder: path");
            Check(NativeMethods.troika_trainer_load(Handle, text, null, out troika_error error), ref error);
        }

        /// <summary>Returns the model on its own, with the trained parameters. The trainer stays
        /// usable.</summary>
        public Model Unwrap()
        {
            Check(NativeMethods.troika_trainer_unwrap(Handle, out ModelHandle model, out troika_error error), ref error);
            return new Model(model, Context);
        }

        /// <summary>Returns the memory of a replica, in bytes.</summary>
        public unsafe MemoryInfo Memory(int replica = 0)
        {
            troika_memory_info info = troika_memory_info.Default();
            Check(NativeMethods.troika_trainer_memory(Handle, replica, &info, out troika_error error), ref error);
            return new MemoryInfo(&info);
        }

        /// <summary>Returns the description of the trainer as one JSON object.</summary>
        public string ToJson()
        {
            TrainerHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_trainer_to_json(handle, buffer, capacity, out size, out error));
        }

        /// <summary>Returns the plan for a batch of <paramref name="batch"/> samples as text; null
        /// if a stop was requested while the plan was compiled.</summary>
        public string Explain(long batch)
        {
            TrainerHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_trainer_explain(handle, batch, buffer, capacity, out size, out error));
        }

        /// <summary>Returns the trace of the last step, one line per event: "replica begin_us
        /// end_us name". Needs <see cref="TrainerOptions.CollectTrace"/>.</summary>
        public string Trace()
        {
            TrainerHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_trainer_trace(handle, buffer, capacity, out size, out error));
        }

        /// <summary>Writes the trace of the last step as JSON for ui.perfetto.dev. Needs
        /// <see cref="TrainerOptions.CollectTrace"/>.</summary>
        public void SaveTrace(string file)
        {
            byte[] text = Utf8.Bytes(file, "Trainer.SaveTrace: file");
            Check(NativeMethods.troika_trainer_save_trace(Handle, text, out troika_error error), ref error);
        }

        private unsafe void GetParameter(string name, Device device, void* data, long size)
        {
            byte[] text = Utf8.Bytes(name, "Trainer.GetParameter: name");
            Status status = NativeMethods.troika_trainer_get_parameter(
                Handle, text, device, data, size, out troika_error error);
            Check(status, ref error);
        }
    }
}
