using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Troika.Native;

namespace Troika
{
    /// <summary>The models that the library can build by name. Any thread.</summary>
    public static class Zoo
    {
        /// <summary>The names for <see cref="Model.Create"/>.</summary>
        public static IReadOnlyList<string> Names
        {
            get
            {
                Library.Load();
                var names = new List<string>();
                string name;
                while ((name = NameAt(names.Count)) != null)
                    names.Add(name);
                return names;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static unsafe string NameAt(int index) => Utf8.Read((byte*)NativeMethods.troika_zoo_name(index));
    }
}
