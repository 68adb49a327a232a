using System;
using System.Runtime.CompilerServices;
using Troika.Native;

namespace Troika
{
    /// <summary>A call of the library failed. The message is the library's line: the object, what
    /// was found, what is needed.</summary>
    public class TroikaException : Exception
    {
        /// <summary>Creates the exception of a call that returned
        /// <paramref name="status"/>.</summary>
        public TroikaException(Status status, string message) : base(message)
        {
            Status = status;
        }

        /// <summary>Why the call failed.</summary>
        public Status Status { get; }

        /// <summary>The name of the status in C, such as TROIKA_ERROR_BUSY.</summary>
        public string StatusName
        {
            get
            {
                Library.Load();
                return NameOf(Status);
            }
        }

        /// <summary>Throws if a call failed. Statuses above 0 are no failures.</summary>
        internal static Status ThrowIfFailed(Status status, ref troika_error error)
        {
            if (status < Status.Ok)
                throw new TroikaException(status, error.Text);
            return status;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static unsafe string NameOf(Status status) => Utf8.Read((byte*)NativeMethods.troika_status_name(status));
    }

    /// <summary>Weights do not fit a model. Nothing was loaded.</summary>
    public sealed class LoadException : TroikaException
    {
        internal LoadException(Status status, string message, LoadReport report) : base(status, message)
        {
            Report = report;
        }

        /// <summary>The names that differ.</summary>
        public LoadReport Report { get; }
    }
}
