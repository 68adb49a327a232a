using System;

namespace Troika
{
    /// <summary>Checks of arguments. A message is one line: the argument, what was found, what is
    /// needed.</summary>
    internal static class Argument
    {
        internal static T NotNull<T>(T value, string what) where T : class
        {
            if (value == null)
                throw new ArgumentNullException(null, what + " is null, need one");
            return value;
        }

        internal static void Equal(long found, long needed, string what, string unit)
        {
            if (found != needed)
                throw new ArgumentException(what + " has " + found + " " + unit + ", need " + needed);
        }
    }
}
