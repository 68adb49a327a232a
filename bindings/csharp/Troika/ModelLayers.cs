using System.Runtime.CompilerServices;
using Troika.Native;

namespace Troika
{
    // The layers of a model. Each call adds one layer, and returns its output. A name is unique in
    // its model, and is part of the names of the layer's parameters. A call that is refused with
    // InvalidArgument changes nothing. One thread per model at a time.
    public sealed partial class Model
    {
        private delegate Status LayerFunction(byte[] layer, out long value, out troika_error error);

        private unsafe delegate Status ConvFunction(
            ModelHandle model, byte[] layer, long input, troika_conv2d_options* options, out long value,
            out troika_error error);

        private unsafe delegate Status PoolFunction(
            ModelHandle model, byte[] layer, long input, troika_pool2d_options* options, out long value,
            out troika_error error);

        /// <summary>Adds the input, f32 [batch, dims...]. A model has one input.</summary>
        public Value AddInput(string name, params long[] dims)
        {
            Argument.NotNull(dims, "Model.AddInput: dims");
            return Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_input(Handle, layer, dims, dims.Length, out value, out error));
        }

        /// <summary>Adds the input of a type: F32, or I32 for tokens, [batch, dims...].</summary>
        public Value AddTypedInput(string name, Dtype dtype, params long[] dims)
        {
            Argument.NotNull(dims, "Model.AddTypedInput: dims");
            return Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_typed_input(Handle, layer, (int)dtype, dims, dims.Length, out value, out error));
        }

        /// <summary>Adds an embedding: tokens i32 [batch, ...] to [batch, ..., features].</summary>
        public Value AddEmbedding(string name, Value input, long words, long features) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_embedding(Handle, layer, input.Id, words, features, out value, out error));

        /// <summary>Adds a 2-d convolution: [batch, C, H, W] to [batch, OutChannels, H',
        /// W'].</summary>
        public unsafe Value AddConv2d(string name, Value input, Conv2dOptions options) =>
            AddConv(name, input, options, NativeMethods.troika_model_add_conv2d);

        /// <summary>Adds a linear layer: [batch, in] to [batch, outFeatures].</summary>
        public Value AddLinear(string name, Value input, long outFeatures, bool bias = true) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_linear(Handle, layer, input.Id, outFeatures, bias ? 1 : 0, out value, out error));

        /// <summary>Adds a linear layer for each step: [batch, steps, in] to [batch, steps,
        /// outFeatures].</summary>
        public Value AddLinearPerPosition(string name, Value input, long outFeatures, bool bias = true) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_linear_per_position(
                    Handle, layer, input.Id, outFeatures, bias ? 1 : 0, out value, out error));

        /// <summary>Adds batch normalisation of each channel of [batch, C, H, W]. The defaults are
        /// PyTorch's.</summary>
        public Value AddBatchNorm2d(string name, Value input, double eps = 1e-5, double momentum = 0.1) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_batch_norm2d(Handle, layer, input.Id, eps, momentum, out value, out error));

        /// <summary>Adds max(x, 0). Any shape.</summary>
        public Value AddRelu(string name, Value input) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_relu(Handle, layer, input.Id, out value, out error));

        /// <summary>Adds GELU without approximation. Any shape.</summary>
        public Value AddGelu(string name, Value input) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_gelu(Handle, layer, input.Id, out value, out error));

        /// <summary>Adds max pooling over windows: [batch, C, H, W] to [batch, C, H',
        /// W'].</summary>
        public unsafe Value AddMaxPool2d(string name, Value input, Pool2dOptions options) =>
            AddPool(name, input, options, NativeMethods.troika_model_add_max_pool2d);

        /// <summary>Adds average pooling over windows: [batch, C, H, W] to [batch, C, H',
        /// W'].</summary>
        public unsafe Value AddAvgPool2d(string name, Value input, Pool2dOptions options) =>
            AddPool(name, input, options, NativeMethods.troika_model_add_avg_pool2d);

        /// <summary>Adds average pooling to a size of the output: [batch, C, H, W] to [batch, C,
        /// outHeight, outWidth].</summary>
        public Value AddAdaptiveAvgPool2d(string name, Value input, long outHeight, long outWidth) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_adaptive_avg_pool2d(
                    Handle, layer, input.Id, outHeight, outWidth, out value, out error));

        /// <summary>Adds a flattening of all axes except the batch.</summary>
        public Value AddFlatten(string name, Value input) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_flatten(Handle, layer, input.Id, out value, out error));

        /// <summary>Adds the sum of two values of one shape: the residual connection.</summary>
        public Value AddSum(string name, Value a, Value b) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_sum(Handle, layer, a.Id, b.Id, out value, out error));

        /// <summary>Adds dropout with a probability in [0, 1). Any shape.</summary>
        public Value AddDropout(string name, Value input, double probability) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_dropout(Handle, layer, input.Id, probability, out value, out error));

        /// <summary>Adds an LSTM of one layer: [batch, steps, features] to [batch, steps,
        /// hidden].</summary>
        public Value AddLstm(string name, Value input, long hidden, bool bias = true) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_lstm(Handle, layer, input.Id, hidden, bias ? 1 : 0, out value, out error));

        /// <summary>Adds a GRU of one layer: [batch, steps, features] to [batch, steps,
        /// hidden].</summary>
        public Value AddGru(string name, Value input, long hidden, bool bias = true) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_gru(Handle, layer, input.Id, hidden, bias ? 1 : 0, out value, out error));

        /// <summary>Adds the choice of one step: [batch, steps, features] to [batch, features].
        /// Steps below 0 count from the end.</summary>
        public Value AddSelectStep(string name, Value input, long step) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_select_step(Handle, layer, input.Id, step, out value, out error));

        /// <summary>Adds a transposed 2-d convolution: [batch, C, H, W] to [batch, K, H',
        /// W'].</summary>
        public unsafe Value AddConvTranspose2d(string name, Value input, Conv2dOptions options) =>
            AddConv(name, input, options, NativeMethods.troika_model_add_conv_transpose2d);

        /// <summary>Adds a 1-d convolution: [batch, C, L] to [batch, K, L'].</summary>
        public unsafe Value AddConv1d(string name, Value input, Conv1dOptions options)
        {
            byte[] layer = Utf8.Bytes(name, "Model.AddConv1d: name");
            Argument.NotNull(options, "Model.AddConv1d: options");
            using (var scope = new NativeScope())
            {
                troika_conv1d_options raw;
                options.WriteTo(&raw, scope);
                Status status = NativeMethods.troika_model_add_conv1d(
                    Handle, layer, input.Id, &raw, out long value, out troika_error error);
                return Added(status, value, ref error);
            }
        }

        /// <summary>Adds batch normalisation of [batch, C] or [batch, C, L].</summary>
        public Value AddBatchNorm1d(string name, Value input, double eps = 1e-5, double momentum = 0.1) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_batch_norm1d(Handle, layer, input.Id, eps, momentum, out value, out error));

        /// <summary>Adds layer normalisation over the last <paramref name="axes"/>
        /// axes.</summary>
        public Value AddLayerNorm(string name, Value input, int axes, double eps = 1e-5) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_layer_norm(Handle, layer, input.Id, axes, eps, out value, out error));

        /// <summary>Adds normalisation of each of <paramref name="groups"/> groups of
        /// channels.</summary>
        public Value AddGroupNorm(string name, Value input, long groups, double eps = 1e-5) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_group_norm(Handle, layer, input.Id, groups, eps, out value, out error));

        /// <summary>Adds root mean square normalisation over the last <paramref
        /// name="axes"/> axes.</summary>
        public Value AddRmsNorm(string name, Value input, int axes, double eps = 1e-5) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_rms_norm(Handle, layer, input.Id, axes, eps, out value, out error));

        /// <summary>Adds 1 / (1 + e^-x), element by element.</summary>
        public Value AddSigmoid(string name, Value input) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_sigmoid(Handle, layer, input.Id, out value, out error));

        /// <summary>Adds the hyperbolic tangent, element by element.</summary>
        public Value AddTanh(string name, Value input) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_tanh(Handle, layer, input.Id, out value, out error));

        /// <summary>Adds x times the sigmoid of x, element by element.</summary>
        public Value AddSilu(string name, Value input) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_silu(Handle, layer, input.Id, out value, out error));

        /// <summary>Adds x if x > 0, else <paramref name="slope"/> x, element by
        /// element.</summary>
        public Value AddLeakyRelu(string name, Value input, double slope = 0.01) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_leaky_relu(Handle, layer, input.Id, slope, out value, out error));

        /// <summary>Adds e^x over the sum of e^x along <paramref name="axis"/>, which is
        /// not the batch.</summary>
        public Value AddSoftmax(string name, Value input, int axis = -1) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_softmax(Handle, layer, input.Id, axis, out value, out error));

        /// <summary>Adds the part [begin, end) along <paramref name="axis"/>, which is not
        /// the batch.</summary>
        public Value AddSlice(string name, Value input, int axis, long begin, long end) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_slice(Handle, layer, input.Id, axis, begin, end, out value, out error));

        /// <summary>Adds the product of two values, element by element. An axis of size 1 is
        /// repeated.</summary>
        public Value AddProduct(string name, Value a, Value b) =>
            Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_product(Handle, layer, a.Id, b.Id, out value, out error));

        /// <summary>Joins values along <paramref name="axis"/>, which is not the
        /// batch.</summary>
        public Value AddConcat(string name, int axis, params Value[] inputs)
        {
            Argument.NotNull(inputs, "Model.AddConcat: inputs");
            long[] ids = System.Array.ConvertAll(inputs, input => input.Id);
            return Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_concat(Handle, layer, ids, ids.Length, axis, out value, out error));
        }

        /// <summary>Reshapes a sample: [batch, dims...]. One size may be
        /// -1.</summary>
        public Value AddReshape(string name, Value input, params long[] dims)
        {
            Argument.NotNull(dims, "Model.AddReshape: dims");
            return Add(name, (byte[] layer, out long value, out troika_error error) =>
                NativeMethods.troika_model_add_reshape(Handle, layer, input.Id, dims, dims.Length, out value, out error));
        }

        /// <summary>Adds the means over some axes; null: over all axes of a sample.</summary>
        public unsafe Value AddMean(string name, Value input, int[] axes = null, bool keepAxes = false)
        {
            byte[] layer = Utf8.Bytes(name, "Model.AddMean: name");
            fixed (int* list = Tensor.ListOf(axes))
            {
                Status status = NativeMethods.troika_model_add_mean(
                    Handle, layer, input.Id, list, axes?.Length ?? 0, keepAxes ? 1 : 0, out long value, out troika_error error);
                return Added(status, value, ref error);
            }
        }

        /// <summary>Makes parameter <paramref name="name"/> of a layer that is added later another
        /// name of parameter <paramref name="of"/>.</summary>
        public void ShareParameter(string name, string of) =>
            Check(NativeMethods.troika_model_share_parameter(
                Handle, Utf8.Bytes(name, "Model.ShareParameter: name"), Utf8.Bytes(of, "Model.ShareParameter: of"),
                out troika_error error), ref error);

        /// <summary>Completes the model: <paramref name="value"/> is its output. No layer can be
        /// added afterwards.</summary>
        public void SetOutput(Value value) =>
            Check(NativeMethods.troika_model_set_output(Handle, value.Id, out troika_error error), ref error);

        private Value Add(string name, LayerFunction function, [CallerMemberName] string method = null)
        {
            byte[] layer = Utf8.Bytes(name, "Model." + method + ": name");
            return Added(function(layer, out long value, out troika_error error), value, ref error);
        }

        private unsafe Value AddConv(
            string name, Value input, Conv2dOptions options, ConvFunction function, [CallerMemberName] string method = null)
        {
            Argument.NotNull(options, "Model." + method + ": options");
            using (var scope = new NativeScope())
            {
                troika_conv2d_options raw;
                options.WriteTo(&raw, scope);
                troika_conv2d_options* at = &raw;
                return Add(name, (byte[] layer, out long value, out troika_error error) =>
                    function(Handle, layer, input.Id, at, out value, out error), method);
            }
        }

        private unsafe Value AddPool(
            string name, Value input, Pool2dOptions options, PoolFunction function, [CallerMemberName] string method = null)
        {
            Argument.NotNull(options, "Model." + method + ": options");
            using (var scope = new NativeScope())
            {
                troika_pool2d_options raw;
                options.WriteTo(&raw, scope);
                troika_pool2d_options* at = &raw;
                return Add(name, (byte[] layer, out long value, out troika_error error) =>
                    function(Handle, layer, input.Id, at, out value, out error), method);
            }
        }

        private Value Added(Status status, long value, ref troika_error error)
        {
            Check(status, ref error);
            return new Value(value);
        }
    }
}
