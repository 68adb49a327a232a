// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Description of a layer. Filled by Model.DescribeLayer.</summary>
    public sealed partial class LayerInfo
    {
        internal unsafe LayerInfo(troika_layer_info* raw)
        {
            Inputs = NativeArray.Values(raw->inputs, Math.Min(raw->input_count, 8));
            Output = new Value(raw->output);
            Parameters = raw->parameters;
            Operations = raw->operations;
            Dtype = (Dtype)raw->dtype;
            Dims = NativeArray.Read(raw->dims, Math.Min(raw->rank, 8));
            Kind = Utf8.Read(raw->kind, 64);
            Name = Utf8.Read(raw->name, 256);
        }

        /// <summary>The first of them; 0 beyond the last.</summary>
        public IReadOnlyList<Value> Inputs { get; }

        /// <summary>The layer's output.</summary>
        public Value Output { get; }

        /// <summary>Elements of the layer's parameters.</summary>
        public long Parameters { get; }

        /// <summary>Operations of the forward pass for one sample.</summary>
        public double Operations { get; }

        /// <summary>Type of the output: Dtype.F32 and so on.</summary>
        public Dtype Dtype { get; }

        /// <summary>Shape of one sample's output; 0 beyond rank.</summary>
        public IReadOnlyList<long> Dims { get; }

        /// <summary>"conv2d" for a layer of Model.AddConv2d, and so on; "input" for the
        /// input.</summary>
        public string Kind { get; }

        /// <summary>"layer1.0.conv1".</summary>
        public string Name { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "LayerInfo", ("Inputs", Inputs), ("Output", Output), ("Parameters", Parameters),
                ("Operations", Operations), ("Dtype", Dtype), ("Dims", Dims), ("Kind", Kind),
                ("Name", Name));
    }

    /// <summary>Description of a model. Filled by Model.Info.</summary>
    public sealed partial class ModelInfo
    {
        internal unsafe ModelInfo(troika_model_info* raw)
        {
            IsComplete = raw->is_complete == 1;
            Layers = raw->layers;
            Entries = raw->entries;
            Parameters = raw->parameters;
            Operations = raw->operations;
            InputDtype = raw->input_dtype == 0 ? (Dtype?)null : (Dtype)raw->input_dtype;
            InputDims = NativeArray.Read(raw->input_dims, Math.Min(raw->input_rank, 8));
            OutputDtype = raw->output_dtype == 0 ? (Dtype?)null : (Dtype)raw->output_dtype;
            OutputDims = NativeArray.Read(raw->output_dims, Math.Min(raw->output_rank, 8));
            Name = Utf8.Read(raw->name, 256);
        }

        /// <summary>true: the output is set.</summary>
        public bool IsComplete { get; }

        /// <summary>Layers, with the input as layer 0.</summary>
        public int Layers { get; }

        /// <summary>Parameters and buffers together.</summary>
        public int Entries { get; }

        /// <summary>Elements of all parameters.</summary>
        public long Parameters { get; }

        /// <summary>Operations of the forward pass for one sample; a product and its sum are
        /// 2.</summary>
        public double Operations { get; }

        /// <summary>Dtype.F32, or Dtype.I32 for tokens; 0 without an input.</summary>
        public Dtype? InputDtype { get; }

        /// <summary>Shape of a sample; 0 beyond InputRank.</summary>
        public IReadOnlyList<long> InputDims { get; }

        /// <summary>Dtype.F32; 0 if the model is not complete.</summary>
        public Dtype? OutputDtype { get; }

        /// <summary>Shape of one sample's output.</summary>
        public IReadOnlyList<long> OutputDims { get; }

        /// <summary>The model's name.</summary>
        public string Name { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "ModelInfo", ("IsComplete", IsComplete), ("Layers", Layers), ("Entries", Entries),
                ("Parameters", Parameters), ("Operations", Operations), ("InputDtype", InputDtype),
                ("InputDims", InputDims), ("OutputDtype", OutputDtype), ("OutputDims", OutputDims),
                ("Name", Name));
    }

    /// <summary>Description of a trainer. Filled by Trainer.Info.</summary>
    public sealed partial class TrainerInfo
    {
        internal unsafe TrainerInfo(troika_trainer_info* raw)
        {
            DeviceCount = raw->device_count;
            Mesh = new Mesh(&raw->mesh);
            Step = raw->step;
            LearningRate = raw->learning_rate;
            LossScale = raw->loss_scale;
            TrainedElements = raw->trained_elements;
            TrainedEntries = raw->trained_entries;
            IsUsable = raw->is_usable == 1;
        }

        /// <summary>Devices, and replicas, of this process.</summary>
        public int DeviceCount { get; }

        /// <summary>How the devices of all processes share the work; no part is 0.</summary>
        public Mesh Mesh { get; }

        /// <summary>Steps done, also those before a training state was loaded.</summary>
        public long Step { get; }

        /// <summary>The rate of the next step, with schedule.</summary>
        public double LearningRate { get; }

        /// <summary>The scale of the next step; 1 without.</summary>
        public double LossScale { get; }

        /// <summary>Elements of the parameters that are trained.</summary>
        public long TrainedElements { get; }

        /// <summary>Parameters that are trained.</summary>
        public int TrainedEntries { get; }

        /// <summary>true; false after an error that is permanent: Status.Detached,
        /// Status.Comm.</summary>
        public bool IsUsable { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "TrainerInfo", ("DeviceCount", DeviceCount), ("Mesh", Mesh), ("Step", Step),
                ("LearningRate", LearningRate), ("LossScale", LossScale),
                ("TrainedElements", TrainedElements), ("TrainedEntries", TrainedEntries),
                ("IsUsable", IsUsable));
    }

    /// <summary>Description of a value. Filled by Model.DescribeValue.</summary>
    public sealed partial class ValueInfo
    {
        internal unsafe ValueInfo(troika_value_info* raw)
        {
            Layer = raw->layer;
            Dtype = (Dtype)raw->dtype;
            Dims = NativeArray.Read(raw->dims, Math.Min(raw->rank, 8));
        }

        /// <summary>Index of the layer whose output the value is.</summary>
        public int Layer { get; }

        /// <summary>Dtype.F32 and so on.</summary>
        public Dtype Dtype { get; }

        /// <summary>Shape of one sample's value; 0 beyond rank.</summary>
        public IReadOnlyList<long> Dims { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text("ValueInfo", ("Layer", Layer), ("Dtype", Dtype), ("Dims", Dims));
    }
}
