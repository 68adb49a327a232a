using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Troika.Tests
{
    /// <summary>Marks a method that is a test.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class TestAttribute : Attribute
    {
    }

    /// <summary>Comparisons that fail a test.</summary>
    internal static class Expect
    {
        internal static void True(bool condition, string what)
        {
            if (!condition)
                throw new Exception("not true: " + what);
        }

        internal static void Equal<T>(T found, T wanted)
        {
            if (!EqualityComparer<T>.Default.Equals(found, wanted))
                throw new Exception("found " + found + ", wanted " + wanted);
        }

        internal static void Near(double found, double wanted, double tolerance = 1e-6)
        {
            if (!(Math.Abs(found - wanted) <= tolerance))
                throw new Exception("found " + found + ", wanted " + wanted);
        }

        internal static void List<T>(IEnumerable<T> found, params T[] wanted)
        {
            if (!found.SequenceEqual(wanted))
                throw new Exception("found [" + string.Join(", ", found) + "], wanted [" + string.Join(", ", wanted) + "]");
        }

        internal static void Contains(string found, string part)
        {
            if (!found.Contains(part))
                throw new Exception("found '" + found + "', wanted '" + part + "' in it");
        }

        /// <summary>Runs code that must throw. The message is one line.</summary>
        internal static T Throws<T>(Action action, string part = "") where T : Exception
        {
            try
            {
                action();
            }
            catch (T thrown)
            {
                if (thrown.Message.Contains("\n"))
                    throw new Exception("several lines: " + thrown.Message);
                Contains(thrown.Message, part);
                return thrown;
            }
            throw new Exception("nothing was thrown, wanted " + typeof(T).Name);
        }

        internal static TroikaException Fails(Status status, Action action, string part = "")
        {
            var thrown = Throws<TroikaException>(action, part);
            Equal(thrown.Status, status);
            return thrown;
        }
    }

    /// <summary>Runs the classes and tests that the arguments name, or all.</summary>
    internal static class Program
    {
        private static int Main(string[] arguments)
        {
            if (arguments.Length > 0 && arguments[0] == "describe")
            {
                Describe.Write(arguments[1]);
                return 0;
            }
            if (arguments.Length > 0 && arguments[0] == "forget")
            {
                Forgotten.Leave();
                return 0;
            }
            int ran = 0, failed = 0;
            foreach (Type type in Assembly.GetExecutingAssembly().GetTypes().OrderBy(type => type.Name))
            {
                const BindingFlags Methods = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
                foreach (MethodInfo test in type.GetMethods(Methods))
                {
                    if (test.GetCustomAttribute<TestAttribute>() == null)
                        continue;
                    if (arguments.Length > 0 && !arguments.Contains(type.Name) && !arguments.Contains(type.Name + "." + test.Name))
                        continue;
                    ++ran;
                    try
                    {
                        test.Invoke(null, null);
                    }
                    catch (TargetInvocationException failure)
                    {
                        ++failed;
                        Console.WriteLine("{0}.{1}: {2}", type.Name, test.Name, failure.InnerException);
                    }
                }
            }
            Console.WriteLine("{0} passed, {1} failed", ran - failed, failed);
            return ran > 0 && failed == 0 ? 0 : 1;
        }
    }
}
