using System;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Troika.Tests
{
    /// <summary>Writes facts about the assembly, which the test script compares.</summary>
    internal static class Describe
    {
        internal static void Write(string what)
        {
            Assembly assembly = typeof(Context).Assembly;
            if (what == "layout")
                WriteLayout(assembly);
            else if (what == "members")
                WriteMembers(assembly);
            else
                Console.WriteLine(Library.Version);
        }

        /// <summary>Sizes and offsets of the structs of C: "NAME SIZE", "NAME.FIELD
        /// OFFSET".</summary>
        private static void WriteLayout(Assembly assembly)
        {
            const BindingFlags Fields = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
            foreach (Type type in assembly.GetTypes())
            {
                bool isRaw = type.Namespace == "Troika.Native" && type.IsValueType && type.Name.StartsWith("troika_");
                if (!isRaw && type != typeof(Device))
                    continue;
                string name = type == typeof(Device) ? "troika_device" : type.Name;
                Console.WriteLine("{0} {1}", name, Marshal.SizeOf(type));
                foreach (FieldInfo field in type.GetFields(Fields))
                    Console.WriteLine("{0}.{1} {2}", name, field.Name, Marshal.OffsetOf(type, field.Name));
            }
        }

        /// <summary>The public methods and properties: "TYPE MEMBER".</summary>
        private static void WriteMembers(Assembly assembly)
        {
            const BindingFlags Own =
                BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.DeclaredOnly;
            foreach (Type type in assembly.GetExportedTypes().Where(type => !type.IsEnum && !typeof(Delegate).IsAssignableFrom(type)))
            {
                foreach (MethodInfo method in type.GetMethods(Own).Where(method => !method.IsSpecialName))
                    Console.WriteLine("{0} {1}", type.Name, method.Name);
                foreach (PropertyInfo property in type.GetProperties(Own))
                    Console.WriteLine("{0} {1}", type.Name, property.Name);
            }
        }
    }
}
