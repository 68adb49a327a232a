// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Options of a context.</summary>
    public sealed partial class ContextOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe ContextOptions()
        {
            Library.Load();
            troika_context_options raw = troika_context_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>CPU threads for all CPU devices together: at least 1, at most 8 for each core
        /// of the process, or 64 if that is more; unset: one for each core. If it is unset,
        /// trainers with a group divide the cores of a machine: each process takes an equal
        /// share.</summary>
        public int? CpuThreads { get; set; }

        /// <summary>Seed of parameter initialisation and of dropout, unless the caller names
        /// another.</summary>
        public ulong Seed { get; set; }

        /// <summary>The most detailed level that reaches log; unset: LogLevel.Warning.</summary>
        public LogLevel? LogLevel { get; set; }

        /// <summary>true: environment variables of the library hold for fields that are not set:
        /// TROIKA_LOG, TROIKA_BACKEND_DIR, TROIKA_CACHE_DIR, TROIKA_OWN_KERNELS, TROIKA_LEAVE_OUT
        /// and TROIKA_DUMP (docs/threads.md). false (default): none of them is read.</summary>
        public bool UseEnvironment { get; set; }

        /// <summary>The backends that the context may use, separated by commas: "cpu", "cuda". null
        /// (default): all. A backend is loaded when one of its devices is first asked
        /// for.</summary>
        public string Backends { get; set; }

        /// <summary>Levels of single topics, separated by commas: "plan=debug,comm=error". LogLevel
        /// holds for the others. null (default): for all.</summary>
        public string LogTopics { get; set; }

        /// <summary>An absolute path of a folder in which plug-ins are looked for first. null
        /// (default): none.</summary>
        public string BackendFolder { get; set; }

        /// <summary>An absolute path of the folder in which the library stores measurements, such
        /// as the fastest engines of a GPU. null (default): troika in XDG_CACHE_HOME or in the
        /// user's .cache. "": none are stored.</summary>
        public string CacheFolder { get; set; }

        /// <summary>CPU threads of one prediction of Model.Predict: 1 to CpuThreads. The bits of a
        /// result may depend on the number, and never on what else runs. Unset: one thread for each
        /// 500 million operations. A server with many callers sets 1 (docs/serving.md).</summary>
        public int? PredictThreads { get; set; }

        private unsafe void ReadFrom(troika_context_options* raw)
        {
            CpuThreads = raw->cpu_threads == Library.Unset ? (int?)null : raw->cpu_threads;
            Seed = raw->seed;
            LogLevel = raw->log_level == Library.Unset ? (LogLevel?)null : (LogLevel)raw->log_level;
            UseEnvironment = raw->use_environment == 1;
            Backends = Utf8.Read(raw->backends);
            LogTopics = Utf8.Read(raw->log_topics);
            BackendFolder = Utf8.Read(raw->backend_folder);
            CacheFolder = Utf8.Read(raw->cache_folder);
            PredictThreads = raw->predict_threads == Library.Unset ? (int?)null : raw->predict_threads;
        }

        internal unsafe void WriteTo(troika_context_options* raw, NativeScope scope)
        {
            *raw = troika_context_options.Default();
            raw->cpu_threads = CpuThreads ?? Library.Unset;
            raw->seed = Seed;
            raw->log_level = (int?)LogLevel ?? Library.Unset;
            raw->use_environment = UseEnvironment ? 1 : 0;
            raw->backends = scope.Text(Backends, "ContextOptions.Backends");
            raw->log_topics = scope.Text(LogTopics, "ContextOptions.LogTopics");
            raw->backend_folder = scope.Text(BackendFolder, "ContextOptions.BackendFolder");
            raw->cache_folder = scope.Text(CacheFolder, "ContextOptions.CacheFolder");
            raw->predict_threads = PredictThreads ?? Library.Unset;
            WriteMore(raw, scope);
        }

        unsafe partial void WriteMore(troika_context_options* raw, NativeScope scope);
    }
}
