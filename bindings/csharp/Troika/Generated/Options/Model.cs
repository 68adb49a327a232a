// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Options of a 2-d convolution. Arrays are {height, width}.</summary>
    public sealed partial class Conv2dOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe Conv2dOptions()
        {
            Library.Load();
            troika_conv2d_options raw = troika_conv2d_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>true: without a bias; false (default): with.</summary>
        public bool NoBias { get; set; }

        /// <summary>Must be set.</summary>
        public long OutChannels { get; set; }

        /// <summary>Must be set.</summary>
        public Size2d Kernel { get; set; }

        /// <summary>Default 1.</summary>
        public Size2d Stride { get; set; }

        /// <summary>Zeros added on each side; default 0.</summary>
        public Size2d Padding { get; set; }

        /// <summary>Default 1.</summary>
        public Size2d Dilation { get; set; }

        /// <summary>Default 1; divides both channel counts.</summary>
        public long Groups { get; set; }

        private unsafe void ReadFrom(troika_conv2d_options* raw)
        {
            NoBias = raw->no_bias == 1;
            OutChannels = raw->out_channels;
            Kernel = new Size2d(raw->kernel[0], raw->kernel[1]);
            Stride = new Size2d(raw->stride[0], raw->stride[1]);
            Padding = new Size2d(raw->padding[0], raw->padding[1]);
            Dilation = new Size2d(raw->dilation[0], raw->dilation[1]);
            Groups = raw->groups;
        }

        internal unsafe void WriteTo(troika_conv2d_options* raw, NativeScope scope)
        {
            *raw = troika_conv2d_options.Default();
            raw->no_bias = NoBias ? 1 : 0;
            raw->out_channels = OutChannels;
            raw->kernel[0] = Kernel.Height;
            raw->kernel[1] = Kernel.Width;
            raw->stride[0] = Stride.Height;
            raw->stride[1] = Stride.Width;
            raw->padding[0] = Padding.Height;
            raw->padding[1] = Padding.Width;
            raw->dilation[0] = Dilation.Height;
            raw->dilation[1] = Dilation.Width;
            raw->groups = Groups;
        }
    }

    /// <summary>Options of Model.Load.</summary>
    public sealed partial class LoadOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe LoadOptions()
        {
            Library.Load();
            troika_load_options raw = troika_load_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>false (default): names that differ are MISMATCH. true: loads the names that are
        /// in both. Shapes and dtypes must always agree.</summary>
        public bool AllowPartial { get; set; }

        /// <summary>Removed from the beginning of every name in the file, such as "module."; null:
        /// none.</summary>
        public string StripPrefix { get; set; }

        private unsafe void ReadFrom(troika_load_options* raw)
        {
            AllowPartial = raw->allow_partial == 1;
            StripPrefix = Utf8.Read(raw->strip_prefix);
        }

        internal unsafe void WriteTo(troika_load_options* raw, NativeScope scope)
        {
            *raw = troika_load_options.Default();
            raw->allow_partial = AllowPartial ? 1 : 0;
            raw->strip_prefix = scope.Text(StripPrefix, "LoadOptions.StripPrefix");
        }
    }

    /// <summary>Options of Model.Create. A field that is unset takes the model's own
    /// default.</summary>
    public sealed partial class ModelOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe ModelOptions()
        {
            Library.Load();
            troika_model_options raw = troika_model_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>Outputs of the last layer. Default 10 (d2l_*, mlp), 1000 (resnet*) or 256
        /// (char_lstm: also the words of its embedding).</summary>
        public long? Classes { get; set; }

        /// <summary>Default 1 (d2l_*, mlp) or 3 (resnet*).</summary>
        public long? InputChannels { get; set; }

        /// <summary>Default 28 (d2l_*, mlp) or 224 (resnet*).</summary>
        public long? InputHeight { get; set; }

        /// <summary>Default: InputHeight if that is set, else as its default.</summary>
        public long? InputWidth { get; set; }

        /// <summary>Units of the hidden layer; default 256 (mlp) or 128 (char_lstm).</summary>
        public long? Hidden { get; set; }

        /// <summary>char_lstm: tokens of a sample, default 64.</summary>
        public long? Steps { get; set; }

        private unsafe void ReadFrom(troika_model_options* raw)
        {
            Classes = raw->classes == Library.Unset ? (long?)null : raw->classes;
            InputChannels = raw->input_channels == Library.Unset ? (long?)null : raw->input_channels;
            InputHeight = raw->input_height == Library.Unset ? (long?)null : raw->input_height;
            InputWidth = raw->input_width == Library.Unset ? (long?)null : raw->input_width;
            Hidden = raw->hidden == Library.Unset ? (long?)null : raw->hidden;
            Steps = raw->steps == Library.Unset ? (long?)null : raw->steps;
        }

        internal unsafe void WriteTo(troika_model_options* raw, NativeScope scope)
        {
            *raw = troika_model_options.Default();
            raw->classes = Classes ?? Library.Unset;
            raw->input_channels = InputChannels ?? Library.Unset;
            raw->input_height = InputHeight ?? Library.Unset;
            raw->input_width = InputWidth ?? Library.Unset;
            raw->hidden = Hidden ?? Library.Unset;
            raw->steps = Steps ?? Library.Unset;
        }
    }

    /// <summary>Options of max and average pooling. Arrays are {height, width}.</summary>
    public sealed partial class Pool2dOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe Pool2dOptions()
        {
            Library.Load();
            troika_pool2d_options raw = troika_pool2d_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>Average pooling: true leaves the padding out of the mean. false (default, as in
        /// PyTorch): it counts.</summary>
        public bool ExcludePadding { get; set; }

        /// <summary>Must be set.</summary>
        public Size2d Kernel { get; set; }

        /// <summary>Unset: the kernel.</summary>
        public Size2d? Stride { get; set; }

        /// <summary>At most half the kernel; default 0.</summary>
        public Size2d Padding { get; set; }

        private unsafe void ReadFrom(troika_pool2d_options* raw)
        {
            ExcludePadding = raw->exclude_padding == 1;
            Kernel = new Size2d(raw->kernel[0], raw->kernel[1]);
            Stride = raw->stride[0] == Library.Unset ? (Size2d?)null : new Size2d(raw->stride[0], raw->stride[1]);
            Padding = new Size2d(raw->padding[0], raw->padding[1]);
        }

        internal unsafe void WriteTo(troika_pool2d_options* raw, NativeScope scope)
        {
            *raw = troika_pool2d_options.Default();
            raw->exclude_padding = ExcludePadding ? 1 : 0;
            raw->kernel[0] = Kernel.Height;
            raw->kernel[1] = Kernel.Width;
            raw->stride[0] = (Stride ?? new Size2d(Library.Unset, Library.Unset)).Height;
            raw->stride[1] = (Stride ?? new Size2d(Library.Unset, Library.Unset)).Width;
            raw->padding[0] = Padding.Height;
            raw->padding[1] = Padding.Width;
        }
    }
}
