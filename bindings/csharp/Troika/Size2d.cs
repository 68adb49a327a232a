using System;

namespace Troika
{
    /// <summary>A size in two directions, such as that of a kernel. A number is a square.</summary>
    public struct Size2d : IEquatable<Size2d>
    {
        /// <summary>Creates a size.</summary>
        public Size2d(long height, long width)
        {
            Height = height;
            Width = width;
        }

        /// <summary>The size along the height.</summary>
        public long Height { get; }

        /// <summary>The size along the width.</summary>
        public long Width { get; }

        /// <summary>A square.</summary>
        public static implicit operator Size2d(long size) => new Size2d(size, size);

        /// <summary>Compares both sizes.</summary>
        public bool Equals(Size2d other) => Height == other.Height && Width == other.Width;

        /// <summary>Compares both sizes.</summary>
        public override bool Equals(object other) => other is Size2d && Equals((Size2d)other);

        /// <summary>Returns a hash of both sizes.</summary>
        public override int GetHashCode() => Height.GetHashCode() * 31 + Width.GetHashCode();

        /// <summary>Compares both sizes.</summary>
        public static bool operator ==(Size2d left, Size2d right) => left.Equals(right);

        /// <summary>Compares both sizes.</summary>
        public static bool operator !=(Size2d left, Size2d right) => !left.Equals(right);

        /// <summary>Returns the text form: 3x3.</summary>
        public override string ToString() => Height + "x" + Width;
    }
}
