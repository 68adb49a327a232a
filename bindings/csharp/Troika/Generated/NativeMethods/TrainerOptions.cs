// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Fills group as TROIKA_PARAMETER_GROUP_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_parameter_group_init(
            troika_parameter_group* group, uint struct_size);

        /// <summary>Fills options as TROIKA_TRAINER_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_trainer_options_init(
            troika_trainer_options* options, uint struct_size);
    }
}
