using System;
using System.Collections;
using System.Globalization;
using System.Linq;

namespace Troika.Native
{
    /// <summary>Infos and results as text.</summary>
    internal static class Fields
    {
        /// <summary>Returns the name of a type and its fields: Mesh { Data = 2, Layer = 1
        /// }.</summary>
        internal static string Text(string type, params (string Name, object Value)[] fields) =>
            type + " { " + string.Join(", ", fields.Select(field => field.Name + " = " + Text(field.Value))) + " }";

        private static string Text(object value)
        {
            if (value == null)
                return "null";
            if (value is string)
                return "\"" + value + "\"";
            if (value is bool)
                return (bool)value ? "true" : "false";
            if (value is IEnumerable)
                return "[" + string.Join(", ", ((IEnumerable)value).Cast<object>().Select(Text)) + "]";
            // Mono rounds to 15 digits otherwise.
            string format = value is double ? "R" : null;
            return value is IFormattable ? ((IFormattable)value).ToString(format, CultureInfo.InvariantCulture) : value.ToString();
        }
    }
}
