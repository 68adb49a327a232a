using System;
using Troika.Native;

namespace Troika
{
    /// <summary>The output of a layer. Other models refuse the value. The default is no
    /// value.</summary>
    public struct Value : IEquatable<Value>
    {
        internal Value(long id)
        {
            Id = id;
        }

        /// <summary>The number that the library has for the value.</summary>
        public long Id { get; }

        /// <summary>Compares the numbers.</summary>
        public bool Equals(Value other) => Id == other.Id;

        /// <summary>Compares the numbers.</summary>
        public override bool Equals(object other) => other is Value && Equals((Value)other);

        /// <summary>Returns a hash of the number.</summary>
        public override int GetHashCode() => Id.GetHashCode();

        /// <summary>Compares the numbers.</summary>
        public static bool operator ==(Value left, Value right) => left.Equals(right);

        /// <summary>Compares the numbers.</summary>
        public static bool operator !=(Value left, Value right) => !left.Equals(right);

        /// <summary>Returns the number as text: Value { Id = 3 }.</summary>
        public override string ToString() => Fields.Text("Value", ("Id", Id));
    }
}
