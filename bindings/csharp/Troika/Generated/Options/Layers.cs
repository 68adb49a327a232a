// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Options of a 1-d convolution.</summary>
    public sealed partial class Conv1dOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe Conv1dOptions()
        {
            Library.Load();
            troika_conv1d_options raw = troika_conv1d_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>true: without a bias; false (default): with.</summary>
        public bool NoBias { get; set; }

        /// <summary>Must be set.</summary>
        public long OutChannels { get; set; }

        /// <summary>Must be set.</summary>
        public long Kernel { get; set; }

        /// <summary>Default 1.</summary>
        public long Stride { get; set; }

        /// <summary>Zeros added on each side; default 0.</summary>
        public long Padding { get; set; }

        /// <summary>Default 1.</summary>
        public long Dilation { get; set; }

        /// <summary>Default 1; divides both channel counts.</summary>
        public long Groups { get; set; }

        private unsafe void ReadFrom(troika_conv1d_options* raw)
        {
            NoBias = raw->no_bias == 1;
            OutChannels = raw->out_channels;
            Kernel = raw->kernel;
            Stride = raw->stride;
            Padding = raw->padding;
            Dilation = raw->dilation;
            Groups = raw->groups;
        }

        internal unsafe void WriteTo(troika_conv1d_options* raw, NativeScope scope)
        {
            *raw = troika_conv1d_options.Default();
            raw->no_bias = NoBias ? 1 : 0;
            raw->out_channels = OutChannels;
            raw->kernel = Kernel;
            raw->stride = Stride;
            raw->padding = Padding;
            raw->dilation = Dilation;
            raw->groups = Groups;
        }
    }

    /// <summary>Options of a 2-d convolution, and of a transposed one. Arrays are {height,
    /// width}.</summary>
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

        /// <summary>Rows and columns that the output of a transposed convolution has in addition,
        /// at its end; fewer than the stride. Default 0; 0 for a convolution.</summary>
        public Size2d OutputPadding { get; set; }

        private unsafe void ReadFrom(troika_conv2d_options* raw)
        {
            NoBias = raw->no_bias == 1;
            OutChannels = raw->out_channels;
            Kernel = new Size2d(raw->kernel[0], raw->kernel[1]);
            Stride = new Size2d(raw->stride[0], raw->stride[1]);
            Padding = new Size2d(raw->padding[0], raw->padding[1]);
            Dilation = new Size2d(raw->dilation[0], raw->dilation[1]);
            Groups = raw->groups;
            OutputPadding = new Size2d(raw->output_padding[0], raw->output_padding[1]);
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
            raw->output_padding[0] = OutputPadding.Height;
            raw->output_padding[1] = OutputPadding.Width;
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
