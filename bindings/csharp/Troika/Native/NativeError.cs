namespace Troika.Native
{
    internal unsafe partial struct troika_error
    {
        /// <summary>Why the call failed, in one line.</summary>
        internal string Text
        {
            get
            {
                fixed (byte* bytes = message)
                    return Utf8.Read(bytes, Library.ErrorMessageBytes);
            }
        }

        /// <summary>Leaves a message for the library, cut to its size. Returns the message as the
        /// library reports it.</summary>
        internal string Leave(string text)
        {
            fixed (byte* bytes = message)
            {
                Utf8.Write(text, bytes, Library.ErrorMessageBytes);
                return Utf8.Read(bytes, Library.ErrorMessageBytes);
            }
        }
    }
}
