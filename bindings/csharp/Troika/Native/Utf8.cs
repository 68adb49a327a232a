using System;
using System.Text;

namespace Troika.Native
{
    /// <summary>Texts of C: UTF-8 with a NUL at the end.</summary>
    internal static unsafe class Utf8
    {
        private static readonly UTF8Encoding Strict = new UTF8Encoding(false, true);

        /// <summary>Returns the bytes of a text that must be set.</summary>
        internal static byte[] Bytes(string text, string what) => OptionalBytes(Argument.NotNull(text, what), what);

        /// <summary>Returns the bytes of a text, or null.</summary>
        internal static byte[] OptionalBytes(string text, string what)
        {
            if (text == null)
                return null;
            int nul = text.IndexOf('\0');
            if (nul >= 0)
                throw new ArgumentException(what + " has a NUL at index " + nul + ", need a text without one");
            try
            {
                var bytes = new byte[Strict.GetByteCount(text) + 1];
                Strict.GetBytes(text, 0, text.Length, bytes, 0);
                return bytes;
            }
            catch (EncoderFallbackException failure)
            {
                throw new ArgumentException(what + " has half of a character at index " + failure.Index + ", need a whole text");
            }
        }

        /// <summary>Reads a text of any length, or null.</summary>
        internal static string Read(byte* bytes) => bytes == null ? null : Read(bytes, int.MaxValue);

        /// <summary>Reads a text in a buffer.</summary>
        internal static string Read(byte* bytes, int capacity)
        {
            int length = 0;
            while (length < capacity && bytes[length] != 0)
                ++length;
            return Encoding.UTF8.GetString(bytes, length);
        }

        /// <summary>Writes a text as one line. A text that is too long is cut between two
        /// characters.</summary>
        internal static void Write(string text, byte* buffer, int capacity)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text);
            int length = Math.Min(bytes.Length, capacity - 1);
            while (length < bytes.Length && length > 0 && (bytes[length] & 0xC0) == 0x80)
                --length;
            for (int i = 0; i < length; ++i)
                buffer[i] = bytes[i] < 0x20 ? (byte)' ' : bytes[i];
            buffer[length] = 0;
        }
    }
}
