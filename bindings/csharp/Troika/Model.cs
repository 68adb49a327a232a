using System;
using System.Collections.Generic;
using System.Linq;
using Troika.Native;

namespace Troika
{
    /// <summary>A network of named layers with parameters. Calls that only read it may run
    /// together: infos, texts, predictions, saving, cloning, planning. Any other call runs alone; a
    /// call that cannot run gets Busy.</summary>
    public sealed partial class Model : TroikaObject
    {
        internal Model(ModelHandle handle, Context context) : base(handle, context)
        {
        }

        /// <summary>Layers, shapes and number of parameters. The model need not be complete. Reads
        /// the model.</summary>
        public unsafe ModelInfo Info
        {
            get
            {
                troika_model_info info = troika_model_info.Default();
                Check(NativeMethods.troika_model_describe(Handle, &info, out troika_error error), ref error);
                return new ModelInfo(&info);
            }
        }

        /// <summary>The layers, in the order in which they were added. Reads the model.</summary>
        public IReadOnlyList<LayerInfo> Layers => Enumerable.Range(0, Info.Layers).Select(DescribeLayer).ToArray();

        /// <summary>The parameters and buffers, in the order of creation. Reads the
        /// model.</summary>
        public IReadOnlyList<ParameterInfo> Parameters =>
            Enumerable.Range(0, Info.Entries).Select(DescribeParameter).ToArray();

        internal ModelHandle Handle => (ModelHandle)Live;

        /// <summary>Builds a model of the zoo; <see cref="Zoo.Names"/> has the names. Any
        /// thread.</summary>
        /// <exception cref="TroikaException">NotFound, or InvalidArgument, which names the
        /// option.</exception>
        public static unsafe Model Create(Context context, string name, ModelOptions options = null)
        {
            byte[] text = Utf8.Bytes(name, "Model.Create: name");
            using (var scope = new NativeScope())
            {
                troika_model_options raw;
                (options ?? new ModelOptions()).WriteTo(&raw, scope);
                Status status = NativeMethods.troika_model_create(
                    HandleOf(context), text, &raw, out ModelHandle handle, out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Creates a model without layers, to be built by the Add methods. Any
        /// thread.</summary>
        public static Model CreateEmpty(Context context, string name)
        {
            byte[] text = Utf8.Bytes(name, "Model.CreateEmpty: name");
            Status status = NativeMethods.troika_model_create_empty(
                HandleOf(context), text, out ModelHandle handle, out troika_error error);
            return Made(context, status, handle, ref error);
        }

        /// <summary>Reads layers and weights from a file of <see cref="Save"/>,
        /// <see cref="Trainer.Save"/> or <see cref="Trainer.SaveAverage"/>. Any thread.</summary>
        /// <exception cref="TroikaException">NotFound, Io, Corrupt, Unsupported, or Mismatch for a
        /// file with weights alone.</exception>
        public static Model Open(Context context, string path)
        {
            byte[] text = Utf8.Bytes(path, "Model.Open: path");
            Status status = NativeMethods.troika_model_open(
                HandleOf(context), text, out ModelHandle handle, out troika_error error);
            return Made(context, status, handle, ref error);
        }

        /// <summary>Reads a model from the bytes of a file. Any thread.</summary>
        public static unsafe Model OpenMemory(Context context, byte[] data)
        {
            fixed (byte* bytes = Argument.NotNull(data, "Model.OpenMemory: data"))
            {
                Status status = NativeMethods.troika_model_open_memory(
                    HandleOf(context), bytes, data.LongLength, out ModelHandle handle, out troika_error error);
                return Made(context, status, handle, ref error);
            }
        }

        /// <summary>Returns another model that shares the values of parameters, and takes calls of
        /// its own. Reads the model.</summary>
        public Model Clone()
        {
            Check(NativeMethods.troika_model_clone(Handle, out ModelHandle clone, out troika_error error), ref error);
            return new Model(clone, Context);
        }

        /// <summary>Describes layer <paramref name="index"/>. Reads the model.</summary>
        public unsafe LayerInfo DescribeLayer(int index)
        {
            troika_layer_info info = troika_layer_info.Default();
            Check(NativeMethods.troika_model_describe_layer(Handle, index, &info, out troika_error error), ref error);
            return new LayerInfo(&info);
        }

        /// <summary>Returns the index of the layer with this name. Reads the model.</summary>
        /// <exception cref="TroikaException">NotFound, with the nearest name.</exception>
        public int FindLayer(string name)
        {
            byte[] text = Utf8.Bytes(name, "Model.FindLayer: name");
            Check(NativeMethods.troika_model_find_layer(Handle, text, out int index, out troika_error error), ref error);
            return index;
        }

        /// <summary>Describes a value. Reads the model.</summary>
        public unsafe ValueInfo DescribeValue(Value value)
        {
            troika_value_info info = troika_value_info.Default();
            Check(NativeMethods.troika_model_describe_value(Handle, value.Id, &info, out troika_error error), ref error);
            return new ValueInfo(&info);
        }

        /// <summary>Describes parameter or buffer <paramref name="index"/>. Reads the
        /// model.</summary>
        public unsafe ParameterInfo DescribeParameter(int index)
        {
            troika_parameter_info info = troika_parameter_info.Default();
            Check(NativeMethods.troika_model_describe_parameter(Handle, index, &info, out troika_error error), ref error);
            return new ParameterInfo(&info);
        }

        /// <summary>Returns the index of a parameter or buffer by its name. Reads the
        /// model.</summary>
        /// <exception cref="TroikaException">NotFound; the message names the nearest.</exception>
        public int FindParameter(string name)
        {
            byte[] text = Utf8.Bytes(name, "Model.FindParameter: name");
            Status status = NativeMethods.troika_model_find_parameter(
                Handle, text, out int index, out troika_error error);
            Check(status, ref error);
            return index;
        }

        /// <summary>Returns the number of parameters and buffers together, and the number of
        /// elements of all parameters. Reads the model.</summary>
        public (int Entries, long Elements) CountParameters()
        {
            Status status = NativeMethods.troika_model_count_parameters(
                Handle, out int entries, out long elements, out troika_error error);
            Check(status, ref error);
            return (entries, elements);
        }

        /// <summary>Returns the model as a tree, with shapes, parameters and operations. Reads the
        /// model.</summary>
        public string Print()
        {
            ModelHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_model_print(handle, buffer, capacity, out size, out error));
        }

        /// <summary>Returns the description of the model as one JSON object. Reads the
        /// model.</summary>
        public string ToJson()
        {
            ModelHandle handle = Handle;
            return ReadText((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_model_to_json(handle, buffer, capacity, out size, out error));
        }

        /// <summary>Initialises the parameters whose names match a pattern with * and ?; null: all.
        /// The values depend only on seed and name.</summary>
        /// <exception cref="TroikaException">NotFound if nothing matches.</exception>
        public void Initialize(string pattern, Initializer initializer, double a = 0, ulong seed = 0)
        {
            byte[] text = Utf8.OptionalBytes(pattern, "Model.Initialize: pattern");
            Status status = NativeMethods.troika_model_initialize(
                Handle, text, (int)initializer, a, seed, out troika_error error);
            Check(status, ref error);
        }

        /// <summary>Initialises a parameter of all layers of some kinds: "weight" of
        /// "linear,conv2d".</summary>
        /// <exception cref="TroikaException">NotFound: no such layer or parameter.</exception>
        public void InitializeLayers(
            string kinds, string parameter, Initializer initializer, double a = 0.0, ulong seed = 0) =>
            Check(NativeMethods.troika_model_initialize_layers(
                Handle, Utf8.Bytes(kinds, "Model.InitializeLayers: kinds"),
                Utf8.Bytes(parameter, "Model.InitializeLayers: parameter"), (int)initializer, a, seed,
                out troika_error error), ref error);

        /// <summary>Initialises every parameter and buffer by the model's default.</summary>
        public void InitializeDefault(ulong seed = 0) =>
            Check(NativeMethods.troika_model_initialize_default(Handle, seed, out troika_error error), ref error);

        /// <summary>Returns a copy of a parameter, f32, row-major. Reads the model.</summary>
        /// <exception cref="TroikaException">NotFound, or NotInitialized.</exception>
        public float[] GetParameter(string name)
        {
            var data = new float[CountElements(name, Dtype.F32, "Model.GetParameter")];
            GetParameter(name, data);
            return data;
        }

        /// <summary>Copies a parameter, f32, into an array of its size. Reads the model.</summary>
        public unsafe void GetParameter(string name, float[] data)
        {
            Argument.NotNull(data, "Model.GetParameter: data");
            CountElements(name, Dtype.F32, "Model.GetParameter");
            fixed (float* to = data)
                GetParameter(name, to, data.LongLength * sizeof(float));
        }

        /// <summary>Copies a buffer of i64, num_batches_tracked, into an array of its size. Reads
        /// the model.</summary>
        public unsafe void GetParameter(string name, long[] data)
        {
            Argument.NotNull(data, "Model.GetParameter: data");
            CountElements(name, Dtype.I64, "Model.GetParameter");
            fixed (long* to = data)
                GetParameter(name, to, data.LongLength * sizeof(long));
        }

        /// <summary>Copies an array, row-major, into a parameter, f32. A trainer takes the value
        /// before its next step.</summary>
        public unsafe void SetParameter(string name, float[] data)
        {
            Argument.NotNull(data, "Model.SetParameter: data");
            CountElements(name, Dtype.F32, "Model.SetParameter");
            fixed (float* from = data)
                SetParameter(name, from, data.LongLength * sizeof(float));
        }

        /// <summary>Copies an array into a buffer of i64, num_batches_tracked.</summary>
        public unsafe void SetParameter(string name, long[] data)
        {
            Argument.NotNull(data, "Model.SetParameter: data");
            CountElements(name, Dtype.I64, "Model.SetParameter");
            fixed (long* from = data)
                SetParameter(name, from, data.LongLength * sizeof(long));
        }

        /// <summary>Writes layers and weights to one safetensors file, under PyTorch's names.
        /// Atomic. Reads the model.</summary>
        /// <exception cref="TroikaException">NotInitialized, which names the parameter, or
        /// Io.</exception>
        public void Save(string path)
        {
            byte[] text = Utf8.Bytes(path, "Model.Save: path");
            Check(NativeMethods.troika_model_save(Handle, text, out troika_error error), ref error);
        }

        /// <summary>Returns the bytes that <see cref="Save"/> writes. Reads the model.</summary>
        public unsafe byte[] SaveMemory()
        {
            Status status = NativeMethods.troika_model_save_memory(Handle, null, 0, out long size, out troika_error error);
            Check(status, ref error);
            var data = new byte[size];
            fixed (byte* bytes = data)
                status = NativeMethods.troika_model_save_memory(Handle, bytes, data.LongLength, out size, out error);
            Check(status, ref error);
            return data;
        }

        /// <summary>Reads weights from a safetensors file, such as one of PyTorch. A refused file
        /// changes nothing. One thread per model at a time.</summary>
        /// <exception cref="LoadException">Mismatch, with the names that differ.</exception>
        /// <exception cref="TroikaException">NotFound, Io, Corrupt.</exception>
        public unsafe LoadReport Load(string path, LoadOptions options = null)
        {
            byte[] text = Utf8.Bytes(path, "Model.Load: path");
            using (var scope = new NativeScope())
            {
                troika_load_options raw;
                (options ?? new LoadOptions()).WriteTo(&raw, scope);
                troika_load_report report = troika_load_report.Default();
                Status status = NativeMethods.troika_model_load(Handle, text, &raw, &report, out troika_error error);
                return Loaded(status, &report, ref error);
            }
        }

        /// <summary>Reads weights from the bytes of a file, as <see cref="Load"/> does.</summary>
        public unsafe LoadReport LoadMemory(byte[] data, LoadOptions options = null)
        {
            using (var scope = new NativeScope())
            fixed (byte* bytes = Argument.NotNull(data, "Model.LoadMemory: data"))
            {
                troika_load_options raw;
                (options ?? new LoadOptions()).WriteTo(&raw, scope);
                troika_load_report report = troika_load_report.Default();
                Status status = NativeMethods.troika_model_load_memory(
                    Handle, bytes, data.LongLength, &raw, &report, out troika_error error);
                return Loaded(status, &report, ref error);
            }
        }

        /// <summary>Runs the model in evaluation mode on a device. The input is [batch, ...] on any
        /// device, the output a new tensor f32 [batch, ...] on <paramref name="device"/>. Any
        /// number of threads at once. Reads the model.</summary>
        public Tensor Predict(Device device, Tensor input)
        {
            TensorHandle from = Argument.NotNull(input, "Model.Predict: input").Handle;
            Status status = NativeMethods.troika_model_predict(
                Handle, device, from, out TensorHandle output, out troika_error error);
            Check(status, ref error);
            return new Tensor(output, Context);
        }

        /// <summary>Predicts samples [n, ...], f32, in host memory, and returns [n, ...]. With
        /// <paramref name="layer"/> it returns the output of that layer. Any number of threads at
        /// once. Reads the model.</summary>
        public float[] Predict(Device device, float[] inputs, string layer = null)
        {
            long n = CountSamples(Argument.NotNull(inputs, "Model.Predict: inputs").LongLength, Dtype.F32);
            var output = new float[n * CountOutputs(layer)];
            PredictInto(device, inputs, output, layer);
            return output;
        }

        /// <summary>Predicts sequences of tokens, as the other overload does.</summary>
        public float[] Predict(Device device, int[] inputs, string layer = null)
        {
            long n = CountSamples(Argument.NotNull(inputs, "Model.Predict: inputs").LongLength, Dtype.I32);
            var output = new float[n * CountOutputs(layer)];
            PredictInto(device, inputs, output, layer);
            return output;
        }

        /// <summary>Predicts samples [n, ...], f32, into an array of the outputs' size. After an
        /// error the array may hold anything. Any number of threads at once. Reads the
        /// model.</summary>
        public unsafe void PredictInto(Device device, float[] inputs, float[] output, string layer = null)
        {
            Argument.NotNull(output, "Model.PredictInto: output");
            long n = CountSamples(Argument.NotNull(inputs, "Model.PredictInto: inputs").LongLength, Dtype.F32);
            fixed (float* from = inputs, to = output)
                PredictInto(device, from, n, layer, to, output.LongLength);
        }

        /// <summary>Predicts sequences of tokens, as the other overload does.</summary>
        public unsafe void PredictInto(Device device, int[] inputs, float[] output, string layer = null)
        {
            Argument.NotNull(output, "Model.PredictInto: output");
            long n = CountSamples(Argument.NotNull(inputs, "Model.PredictInto: inputs").LongLength, Dtype.I32);
            fixed (int* from = inputs)
            fixed (float* to = output)
                PredictInto(device, from, n, layer, to, output.LongLength);
        }

#if SPAN
        /// <summary>Predicts samples [n, ...], f32, into a span of the outputs' size.</summary>
        public unsafe void PredictInto(Device device, ReadOnlySpan<float> inputs, Span<float> output, string layer = null)
        {
            long n = CountSamples(inputs.Length, Dtype.F32);
            fixed (byte* from = &SpanBytes.Of(inputs), to = &SpanBytes.Of((ReadOnlySpan<float>)output))
                PredictInto(device, from, n, layer, (float*)to, output.Length);
        }
#endif

        /// <summary>Attaches the model to devices, which share its batches, layers and channels. An
        /// earlier trainer of the model is detached. null: the default options. One thread per
        /// model at a time.</summary>
        /// <exception cref="TroikaException">InvalidArgument, which names the option;
        /// DeviceUnavailable, which names the device.</exception>
        public unsafe Trainer Attach(IEnumerable<Device> devices, TrainerOptions options = null)
        {
            Device[] list = Argument.NotNull(devices, "Model.Attach: devices").ToArray();
            options = options ?? new TrainerOptions();
            using (var scope = new NativeScope())
            {
                troika_trainer_options raw;
                options.WriteTo(&raw, scope);
                Status status = NativeMethods.troika_model_attach(
                    Handle, list, list.Length, &raw, out TrainerHandle handle, out troika_error error);
                Check(status, ref error);
                return new Trainer(handle, this, options.Group);
            }
        }

        /// <summary>Estimates memory and time of a training step on one mesh. The devices need not
        /// exist. null: the default options, and all devices share the batch. Reads the
        /// model.</summary>
        public unsafe PlanResult EstimatePlan(PlanOptions options = null, Mesh mesh = null)
        {
            using (var scope = new NativeScope())
            {
                troika_plan_options raw;
                (options ?? new PlanOptions()).WriteTo(&raw, scope);
                troika_mesh shares;
                (mesh ?? new Mesh()).WriteTo(&shares, scope);
                troika_plan_result plan = troika_plan_result.Default();
                Status status = NativeMethods.troika_plan_estimate(Handle, &raw, &shares, &plan, out troika_error error);
                Check(status, ref error);
                return new PlanResult(&plan);
            }
        }

        /// <summary>Estimates every mesh of the devices, and returns the fastest that fits. Reads
        /// the model.</summary>
        /// <exception cref="TroikaException">NotFound: no mesh fits.</exception>
        public unsafe PlanResult ChoosePlan(PlanOptions options = null)
        {
            using (var scope = new NativeScope())
            {
                troika_plan_options raw;
                (options ?? new PlanOptions()).WriteTo(&raw, scope);
                troika_plan_result plan = troika_plan_result.Default();
                Check(NativeMethods.troika_plan_choose(Handle, &raw, &plan, out troika_error error), ref error);
                return new PlanResult(&plan);
            }
        }

        /// <summary>Returns the number of elements of a parameter that has a type.</summary>
        internal long CountElements(string name, Dtype dtype, string method)
        {
            Argument.NotNull(name, method + ": name");
            ParameterInfo found = DescribeParameter(FindParameter(name));
            if (found.Dtype != dtype)
                throw new ArgumentException(method + ": " + name + " has elements of " + found.Dtype + ", not of " + dtype);
            return Elements.Count(found.Dims, method);
        }

        private static ContextHandle HandleOf(Context context) => Argument.NotNull(context, "Model: context").Handle;

        private static Model Made(Context context, Status status, ModelHandle handle, ref troika_error error)
        {
            context.Check(status, ref error);
            return new Model(handle, context);
        }

        private unsafe void GetParameter(string name, void* data, long size)
        {
            byte[] text = Utf8.Bytes(name, "Model.GetParameter: name");
            Check(NativeMethods.troika_model_get_parameter(Handle, text, data, size, out troika_error error), ref error);
        }

        private unsafe void SetParameter(string name, void* data, long size)
        {
            byte[] text = Utf8.Bytes(name, "Model.SetParameter: name");
            Check(NativeMethods.troika_model_set_parameter(Handle, text, data, size, out troika_error error), ref error);
        }

        private unsafe LoadReport Loaded(Status status, troika_load_report* raw, ref troika_error error)
        {
            var report = new LoadReport(raw);
            if (status == Status.Mismatch)
                throw new LoadException(status, error.Text, report);
            Check(status, ref error);
            return report;
        }

        private unsafe void PredictInto(Device device, void* inputs, long n, string layer, float* output, long outputs)
        {
            byte[] text = Utf8.OptionalBytes(layer, "Model.PredictInto: layer");
            Status status = NativeMethods.troika_model_predict_into(
                Handle, device, inputs, n, text, output, outputs * sizeof(float), out troika_error error);
            Check(status, ref error);
        }

        // The library reads n samples of the model's own size, so n follows from the array.
        private long CountSamples(long elements, Dtype dtype)
        {
            ModelInfo info = Info;
            if (info.InputDtype != dtype)
                throw new ArgumentException("Model.Predict: inputs are " + dtype + ", the model needs "
                                            + (info.InputDtype?.ToString() ?? "an input"));
            long size = Elements.Count(info.InputDims, "Model.Predict: dims");
            if (elements % size != 0)
                throw new ArgumentException("Model.Predict: inputs has " + elements + " elements, need samples of " + size);
            return elements / size;
        }

        private long CountOutputs(string layer)
        {
            IReadOnlyList<long> dims = layer == null ? Info.OutputDims : DescribeLayer(FindLayer(layer)).Dims;
            return Elements.Count(dims, "Model.Predict: dims");
        }
    }
}
