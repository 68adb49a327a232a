using Troika.Native;

namespace Troika
{
    /// <summary>Weights files and training states, without a model. Any thread.</summary>
    public static class Files
    {
        /// <summary>Returns the contents of a safetensors file as text: "metadata KEY = VALUE" and
        /// "NAME DTYPE [d0, d1, ...]", one line each.</summary>
        /// <exception cref="TroikaException">NotFound, Io, or Corrupt for another
        /// format.</exception>
        public static string Inspect(string path)
        {
            byte[] bytes = Utf8.Bytes(path, "Files.Inspect: path");
            return Read((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_file_inspect(bytes, buffer, capacity, out size, out error));
        }

        /// <summary>Returns the path of the newest file that <see cref="Trainer.SaveWith"/> kept
        /// for a path: the one with the largest step.</summary>
        /// <exception cref="TroikaException">NotFound or Io.</exception>
        public static string Newest(string path)
        {
            byte[] bytes = Utf8.Bytes(path, "Files.Newest: path");
            return Read((byte[] buffer, long capacity, out long size, out troika_error error) =>
                NativeMethods.troika_file_newest(bytes, buffer, capacity, out size, out error));
        }

        private static string Read(TextFunction function)
        {
            Library.Load();
            Status status = NativeText.Read(function, out string text, out troika_error error);
            TroikaException.ThrowIfFailed(status, ref error);
            return text;
        }
    }
}
