// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Options of Trainer.Forward.</summary>
    public sealed partial class ForwardOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe ForwardOptions()
        {
            Library.Load();
            troika_forward_options raw = troika_forward_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>true: the backward pass also computes the gradient of the inputs, which must be
        /// f32. Default false.</summary>
        public bool InputGradient { get; set; }

        /// <summary>true: Trainer.Backward takes the gradient of the output from the caller; the
        /// targets of the batch are not read, and a batch may have none. Default false: the
        /// trainer's own loss.</summary>
        public bool OwnLoss { get; set; }

        /// <summary>Above 0: the gradient of the trainer's loss is multiplied by this number; the
        /// loss that is reported is not. n / N for a pass over n of N samples makes the sum of all
        /// passes the gradient of the mean over the N samples. 0 (default): 1. Excludes
        /// OwnLoss.</summary>
        public double Weight { get; set; }

        private unsafe void ReadFrom(troika_forward_options* raw)
        {
            InputGradient = raw->input_gradient == 1;
            OwnLoss = raw->own_loss == 1;
            Weight = raw->weight;
        }

        internal unsafe void WriteTo(troika_forward_options* raw, NativeScope scope)
        {
            *raw = troika_forward_options.Default();
            raw->input_gradient = InputGradient ? 1 : 0;
            raw->own_loss = OwnLoss ? 1 : 0;
            raw->weight = Weight;
        }
    }
}
