using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Troika
{
    /// <summary>Finds the shared library.</summary>
    internal static class LibraryLoader
    {
        private static readonly bool IsWindows = Path.DirectorySeparatorChar == '\\';
        private static readonly string FileName = IsWindows ? "troika.dll" : "libtroika.so.1";

        /// <summary>Loads the library from the first place that has it. Later calls then find it by
        /// its name, wherever it came from.</summary>
        internal static void Load()
        {
            var tried = new List<string>();
            foreach (string place in Places())
            {
                if (Path.IsPathRooted(place) && !File.Exists(place))
                    tried.Add(place + " (no such file)");
                else if (Open(place, out string reason))
                    return;
                else
                    tried.Add(place + " (" + reason + ")");
            }
            string list = string.Join(", ", tried);
            throw new DllNotFoundException("the library of troika is missing: tried " + list + "; TROIKA_LIBRARY may name it");
        }

        private static IEnumerable<string> Places()
        {
            string named = Environment.GetEnvironmentVariable("TROIKA_LIBRARY");
            if (!string.IsNullOrEmpty(named))
                return new[] { named };
            // The location is empty if the assembly is part of a single file.
            string assembly = Assembly.GetExecutingAssembly().Location;
            string folder = assembly.Length > 0 ? Path.GetDirectoryName(assembly) : AppDomain.CurrentDomain.BaseDirectory;
            return new[] { Path.Combine(folder, FileName), FileName };
        }

#if NET
        private static IntPtr loaded;

        static LibraryLoader()
        {
            NativeLibrary.SetDllImportResolver(
                typeof(LibraryLoader).Assembly, (name, assembly, path) => name == "troika" ? loaded : IntPtr.Zero);
        }

        private static bool Open(string place, out string reason)
        {
            reason = null;
            try
            {
                loaded = NativeLibrary.Load(place);
            }
            catch (Exception failure) when (failure is DllNotFoundException || failure is BadImageFormatException)
            {
                reason = failure.Message.Replace('\n', ' ');
                return false;
            }
            return true;
        }
#else
        private const int RtldNow = 2;

        [DllImport("libdl.so.2", CallingConvention = CallingConvention.Cdecl)]
        private static extern IntPtr dlopen(string place, int flags);

        [DllImport("libdl.so.2", CallingConvention = CallingConvention.Cdecl)]
        private static extern IntPtr dlerror();

        // The folder of the library itself is searched for other libraries that the library needs.
        private const uint WithAlteredSearchPath = 8;

        [DllImport("kernel32", CharSet = CharSet.Unicode, SetLastError = true)]
        private static extern IntPtr LoadLibraryExW(string place, IntPtr reserved, uint flags);

        // The system then finds the library loaded: as troika.dll, or by Troika.Net.dll.config,
        // which maps "troika" to libtroika.so.1.
        private static bool Open(string place, out string reason)
        {
            if (IsWindows)
            {
                bool isLoaded = LoadLibraryExW(place, IntPtr.Zero, Path.IsPathRooted(place) ? WithAlteredSearchPath : 0) != IntPtr.Zero;
                reason = isLoaded ? null : "error " + Marshal.GetLastWin32Error();
                return isLoaded;
            }
            bool isOpen = dlopen(place, RtldNow) != IntPtr.Zero;
            reason = isOpen ? null : Marshal.PtrToStringAnsi(dlerror());
            return isOpen;
        }
#endif
    }
}
