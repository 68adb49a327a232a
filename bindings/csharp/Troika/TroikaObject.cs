using System;
using Troika.Native;

namespace Troika
{
    /// <summary>An object of the library. <see cref="Dispose"/> closes it at once, and the garbage
    /// collector closes it later otherwise. Objects may be closed in any order, and twice. A call
    /// on a closed object throws <see cref="ObjectDisposedException"/>. If another thread is inside
    /// of a call, the object ends after this call.</summary>
    public abstract class TroikaObject : IDisposable
    {
        private readonly NativeHandle handle;
        private readonly Context context;

        internal TroikaObject(NativeHandle handle, Context context)
        {
            this.handle = handle;
            this.context = context ?? (Context)this;
        }

        /// <summary>The context that the object belongs to.</summary>
        public Context Context => context;

        /// <summary>Whether the object is closed.</summary>
        public bool IsClosed => handle.IsClosed;

        /// <summary>The handle of an object that is not closed.</summary>
        internal NativeHandle Live
        {
            get
            {
                if (handle.IsClosed)
                    throw new ObjectDisposedException(null, GetType().Name + ": the object is closed");
                return handle;
            }
        }

        /// <summary>Closes the object. Never fails.</summary>
        public virtual void Dispose() => handle.Dispose();

        /// <summary>Throws if a call failed, or if the log function of the context did.</summary>
        internal Status Check(Status status, ref troika_error error)
        {
            TroikaException.ThrowIfFailed(status, ref error);
            context.ThrowLogFailure();
            return status;
        }

        /// <summary>Returns the text that a call writes, or null if it was stopped.</summary>
        internal string ReadText(TextFunction function)
        {
            Status status = NativeText.Read(function, out string text, out troika_error error);
            Check(status, ref error);
            return text;
        }
    }
}
