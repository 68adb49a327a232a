// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Options of Model.Load.</summary>
    public sealed partial class LoadOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe LoadOptions()
        {
            Library.Load();
            troika_load_options raw = troika_load_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>false (default): names that differ are Status.Mismatch. true: loads the names
        /// that are in both.</summary>
        public bool AllowPartial { get; set; }

        /// <summary>Removed from the beginning of every name in the file, such as "module."; null:
        /// none.</summary>
        public string StripPrefix { get; set; }

        /// <summary>false (default): shapes or dtypes that differ are Status.Mismatch. true: such
        /// parameters keep their values, and the report names them: for a last layer of another
        /// number of classes.</summary>
        public bool SkipMismatching { get; set; }

        /// <summary>Patterns of names in the model, separated by commas, such as "fc.*": parameters
        /// and buffers that keep their values, whatever the file has. null: none.</summary>
        public string Skip { get; set; }

        /// <summary>The model's names for those of the file, after StripPrefix: rules "name in
        /// file=name in model", separated by commas. The first rule that fits a whole name applies;
        /// * is any run of characters, the same on both sides: "encoder.*=backbone.*". Also the
        /// name of a table: "d2l" for the ResNet-18 of Dive into Deep Learning, "torchvision" for
        /// torchvision's models, also within a module. null: the file has the model's
        /// names.</summary>
        public string NameMap { get; set; }

        private unsafe void ReadFrom(troika_load_options* raw)
        {
            AllowPartial = raw->allow_partial == 1;
            StripPrefix = Utf8.Read(raw->strip_prefix);
            SkipMismatching = raw->skip_mismatching == 1;
            Skip = Utf8.Read(raw->skip);
            NameMap = Utf8.Read(raw->name_map);
        }

        internal unsafe void WriteTo(troika_load_options* raw, NativeScope scope)
        {
            *raw = troika_load_options.Default();
            raw->allow_partial = AllowPartial ? 1 : 0;
            raw->strip_prefix = scope.Text(StripPrefix, "LoadOptions.StripPrefix");
            raw->skip_mismatching = SkipMismatching ? 1 : 0;
            raw->skip = scope.Text(Skip, "LoadOptions.Skip");
            raw->name_map = scope.Text(NameMap, "LoadOptions.NameMap");
        }
    }

    /// <summary>Options of Model.Create. A field that is unset takes the model's own
    /// default.</summary>
    public sealed partial class ModelOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe ModelOptions()
        {
            Library.Load();
            troika_model_options raw = troika_model_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>Outputs of the last layer. Default 10 (d2l_*, resnet9, mlp), 1000 (resnet18, 34
        /// and 50) or 256 (char_lstm: also the words of its embedding).</summary>
        public long? Classes { get; set; }

        /// <summary>Default 1 (d2l_*, resnet9, mlp) or 3 (resnet18, 34 and 50).</summary>
        public long? InputChannels { get; set; }

        /// <summary>Default 28 (d2l_*, resnet9, mlp) or 224 (resnet18, 34 and 50).</summary>
        public long? InputHeight { get; set; }

        /// <summary>Default: InputHeight if that is set, else as its default.</summary>
        public long? InputWidth { get; set; }

        /// <summary>Units of the hidden layer; default 256 (mlp) or 128 (char_lstm).</summary>
        public long? Hidden { get; set; }

        /// <summary>char_lstm: tokens of a sample, default 64.</summary>
        public long? Steps { get; set; }

        private unsafe void ReadFrom(troika_model_options* raw)
        {
            Classes = raw->classes == Library.Unset ? (long?)null : raw->classes;
            InputChannels = raw->input_channels == Library.Unset ? (long?)null : raw->input_channels;
            InputHeight = raw->input_height == Library.Unset ? (long?)null : raw->input_height;
            InputWidth = raw->input_width == Library.Unset ? (long?)null : raw->input_width;
            Hidden = raw->hidden == Library.Unset ? (long?)null : raw->hidden;
            Steps = raw->steps == Library.Unset ? (long?)null : raw->steps;
        }

        internal unsafe void WriteTo(troika_model_options* raw, NativeScope scope)
        {
            *raw = troika_model_options.Default();
            raw->classes = Classes ?? Library.Unset;
            raw->input_channels = InputChannels ?? Library.Unset;
            raw->input_height = InputHeight ?? Library.Unset;
            raw->input_width = InputWidth ?? Library.Unset;
            raw->hidden = Hidden ?? Library.Unset;
            raw->steps = Steps ?? Library.Unset;
        }
    }
}
