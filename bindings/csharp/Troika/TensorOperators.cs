namespace Troika
{
    public sealed partial class Tensor
    {
        /// <summary>Returns the sum, as <see cref="Add"/>.</summary>
        public static Tensor operator +(Tensor left, Tensor right) => Argument.NotNull(left, "Tensor: left").Add(right);

        /// <summary>Returns the difference, as <see cref="Subtract"/>.</summary>
        public static Tensor operator -(Tensor left, Tensor right) => Argument.NotNull(left, "Tensor: left").Subtract(right);

        /// <summary>Returns the product, number by number, as <see cref="Multiply"/>.</summary>
        public static Tensor operator *(Tensor left, Tensor right) => Argument.NotNull(left, "Tensor: left").Multiply(right);

        /// <summary>Returns the quotient, as <see cref="Divide"/>.</summary>
        public static Tensor operator /(Tensor left, Tensor right) => Argument.NotNull(left, "Tensor: left").Divide(right);

        /// <summary>Returns -x.</summary>
        public static Tensor operator -(Tensor x) => Argument.NotNull(x, "Tensor: x").Scale(-1);

        /// <summary>Returns x plus a number.</summary>
        public static Tensor operator +(Tensor x, double number) => Argument.NotNull(x, "Tensor: x").Scale(1, number);

        /// <summary>Returns a number plus x.</summary>
        public static Tensor operator +(double number, Tensor x) => Argument.NotNull(x, "Tensor: x").Scale(1, number);

        /// <summary>Returns x minus a number.</summary>
        public static Tensor operator -(Tensor x, double number) => Argument.NotNull(x, "Tensor: x").Scale(1, -number);

        /// <summary>Returns a number minus x.</summary>
        public static Tensor operator -(double number, Tensor x) => Argument.NotNull(x, "Tensor: x").Scale(-1, number);

        /// <summary>Returns x times a number.</summary>
        public static Tensor operator *(Tensor x, double number) => Argument.NotNull(x, "Tensor: x").Scale(number);

        /// <summary>Returns a number times x.</summary>
        public static Tensor operator *(double number, Tensor x) => Argument.NotNull(x, "Tensor: x").Scale(number);

        /// <summary>Returns x times 1 / number.</summary>
        public static Tensor operator /(Tensor x, double number) => Argument.NotNull(x, "Tensor: x").Scale(1 / number);
    }
}
