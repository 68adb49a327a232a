using System;
using System.Runtime.CompilerServices;
using Troika.Native;

namespace Troika
{
    /// <summary>The shared library that the binding calls. It is found in this order: the path in
    /// TROIKA_LIBRARY, the folder of this assembly, the system's folders. Any thread.</summary>
    public static partial class Library
    {
        private static readonly object Gate = new object();
        private static volatile bool isLoaded;

        /// <summary>The version of the library that is loaded.</summary>
        /// <exception cref="DllNotFoundException">The library is missing, or too old. The message
        /// names the places that were tried.</exception>
        public static Version Version
        {
            get
            {
                Load();
                return LoadedVersion();
            }
        }

        /// <summary>One line that says how the library was built: version, commit,
        /// compiler.</summary>
        public static string BuildInfo
        {
            get
            {
                Load();
                return LoadedBuildInfo();
            }
        }

        /// <summary>Loads the library once. Every call that needs no object begins with it. Mono
        /// binds the functions that a method calls when it compiles the method. So a method that
        /// loads the library calls none of its functions itself.</summary>
        internal static void Load()
        {
            if (!isLoaded)
                LoadOnce();
        }

        private static void LoadOnce()
        {
            lock (Gate)
            {
                if (isLoaded)
                    return;
                LibraryLoader.Load();
                Version found = LoadedVersion();
                if (found.Major != DeclaredMajor || found.Minor < DeclaredMinor)
                {
                    string needed = DeclaredMajor + "." + DeclaredMinor + " or a later " + DeclaredMajor + ".x";
                    throw new DllNotFoundException("the library is troika " + found + ", this assembly needs " + needed);
                }
                isLoaded = true;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Version LoadedVersion()
        {
            int number = NativeMethods.troika_version();
            return new Version(number / 10000, number / 100 % 100, number % 100);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static unsafe string LoadedBuildInfo() => Utf8.Read((byte*)NativeMethods.troika_build_info());
    }
}
