using System.Text;

namespace Troika.Native
{
    /// <summary>A call that writes a text into a buffer, and returns the bytes that it
    /// needs.</summary>
    internal delegate Status TextFunction(byte[] buffer, long capacity, out long size, out troika_error error);

    internal static class NativeText
    {
        private const int UsualBytes = 4096;

        /// <summary>Reads a text of any length. It is null unless the call returns OK.</summary>
        internal static Status Read(TextFunction function, out string text, out troika_error error)
        {
            text = null;
            var buffer = new byte[UsualBytes];
            Status status = function(buffer, buffer.Length, out long size, out error);
            // The text may grow between two calls.
            while (status == Status.Ok && size > buffer.Length)
            {
                buffer = new byte[size];
                status = function(buffer, buffer.Length, out size, out error);
            }
            if (status == Status.Ok)
                text = Encoding.UTF8.GetString(buffer, 0, (int)size - 1);
            return status;
        }
    }
}
