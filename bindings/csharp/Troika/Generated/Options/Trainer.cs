// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>How a training state is saved.</summary>
    public sealed partial class SaveOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe SaveOptions()
        {
            Library.Load();
            troika_save_options raw = troika_save_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>0 (default): writes the file at path. K above 0: puts the step before the
        /// extension, as in state-000000001200.safetensors for the path state.safetensors, and
        /// removes all but the newest K of these files. At most 65536.</summary>
        public int Keep { get; set; }

        /// <summary>true: the call returns when the state has been copied to host memory. A thread
        /// of the library writes the file. Default false.</summary>
        public bool InBackground { get; set; }

        private unsafe void ReadFrom(troika_save_options* raw)
        {
            Keep = raw->keep;
            InBackground = raw->in_background == 1;
        }

        internal unsafe void WriteTo(troika_save_options* raw, NativeScope scope)
        {
            *raw = troika_save_options.Default();
            raw->keep = Keep;
            raw->in_background = InBackground ? 1 : 0;
        }
    }
}
