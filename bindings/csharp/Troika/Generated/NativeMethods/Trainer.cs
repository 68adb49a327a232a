// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Runtime.InteropServices;

namespace Troika.Native
{
    internal static unsafe partial class NativeMethods
    {
        /// <summary>Attaches a model to device_count devices, 1 to 1024, with one replica on each;
        /// the same device twice gets two replicas. Parameters without a value take the model's
        /// default initialisation. All replicas start from the model's parameters and stay
        /// bit-identical. A model has one trainer at a time: attaching again takes the parameters
        /// over, and calls on the earlier trainer return DETACHED.</summary>
        /// <remarks>
        /// <para>A step computes what a single device computes on the whole batch. Without shares,
        /// samples are split evenly: sizes differ by at most one, and a device may get none.
        /// Without weights, every sample counts the same. Gradients are summed in pairs of the list
        /// of devices, then in pairs of pairs. Without logical_shards, GPUs that are each named
        /// once are connected by NCCL, which adds in its own order.</para>
        /// <para>CPUs and GPUs may be in one list. Their data meet in host memory, and each update
        /// is made by one device for all, as with shard_optimizer. A split by channel needs devices
        /// of one kind for the channels of a layer.</para>
        /// <para>The exception is BatchNorm: with sync_batch_norm 0, each device normalises its own
        /// samples. The running statistics are those of the first device; with shares, of the first
        /// with the largest part.</para>
        /// <para>options.mesh also splits the network by layer and by channel. Each device then
        /// holds its part of the network. A step computes the same, except that BatchNorm
        /// normalises each micro-batch by itself.</para>
        /// <para>options may be NULL: defaults. Owned: destroy *out_trainer with
        /// troika_trainer_destroy.</para>
        /// <para>Errors:</para>
        /// <para>- INVALID_ARGUMENT: a field, which the message names.</para>
        /// <para>- INVALID_ARGUMENT: a mesh that does not fit the number of devices or the
        /// model.</para>
        /// <para>- INVALID_ARGUMENT: a model with no output, or with nothing left to train; a
        /// parameter that does not reach the loss.</para>
        /// <para>- NOT_FOUND: a group, or a pattern of recompute_layers, that matches nothing; a
        /// layer of layer_cuts that the model does not have.</para>
        /// <para>- UNSUPPORTED: logical_shards with a split by layer or channel; a parameter shared
        /// by layers that a split by channel cuts differently; channels of a layer on a CPU and a
        /// GPU, or late_updates on both.</para>
        /// <para>- DEVICE_UNAVAILABLE: names the device.</para>
        /// <para>- OUT_OF_MEMORY: also if activations cannot fit into
        /// activation_budget_bytes.</para>
        /// <para>- BUSY: also while the model's earlier trainer is in a call.</para>
        /// <para>- COMM: a step of the earlier trainer missed its deadline and still runs.</para>
        /// <para>One thread per model at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_model_attach(
            ModelHandle model, Device[] devices, int device_count, troika_trainer_options* options,
            out TrainerHandle out_trainer, out troika_error error);

        /// <summary>Gives up the caller's hold on a trainer; its parameters stay with the model.
        /// NULL is ignored. Never fails. Any thread, but not while another is inside a call with
        /// the same handle.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_trainer_destroy(IntPtr trainer);

        /// <summary>Fills result as TROIKA_STEP_RESULT_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_step_result_init(
            troika_step_result* result, uint struct_size);

        /// <summary>Trains on one batch: forward, loss, backward, all-reduce of gradients, update.
        /// out_result may be NULL. On GPUs, without loss scaling and skip_not_finite, the call then
        /// returns while the step still runs, and an error of the step is returned by a later call.
        /// A batch of a new size compiles a plan first, so this step takes longer.</summary>
        /// <remarks>
        /// <para>Returns STEP_SKIPPED if loss scaling, or skip_not_finite, met a gradient that is
        /// not finite on any device. Parameters and optimizer state are then unchanged. The loss
        /// scale is halved, but not below 1. The step still counts for step, schedule and warm-up,
        /// and BatchNorm's running statistics have changed. In any step, running statistics of a
        /// channel stay as they are if those of the batch are not finite.</para>
        /// <para>Returns STOPPED after troika_trainer_request_stop; nothing is done then.</para>
        /// <para>Errors:</para>
        /// <para>- INVALID_ARGUMENT, with nothing changed: type or shape of the inputs; kind or
        /// number of targets; a label or token outside its range; a share of the batch that
        /// BatchNorm cannot normalise; samples in another order than troika_trainer_load
        /// expects.</para>
        /// <para>- OUT_OF_MEMORY: the trainer stays usable with a smaller batch.</para>
        /// <para>- UNSUPPORTED: an op that a device has no kernel for.</para>
        /// <para>- BUSY, COMM, DETACHED.</para>
        /// <para>One thread per trainer at a time; reads the batch.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_step(
            TrainerHandle trainer, BatchHandle batch, troika_step_result* out_result,
            out troika_error error);

        /// <summary>Sets the progress callback; NULL removes it. user_destroy, if not NULL, is
        /// called with user when another callback takes its place, or when the trainer is
        /// destroyed. If the call fails, it is not called. Errors: BUSY. One thread per trainer at
        /// a time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_set_progress(
            TrainerHandle trainer, IntPtr function, IntPtr user, IntPtr user_destroy,
            out troika_error error);

        /// <summary>Fills metrics as TROIKA_METRICS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_metrics_init(troika_metrics* metrics, uint struct_size);

        /// <summary>Trains on the remaining batches of the loader's epoch, one step per batch, and
        /// leaves the loader at the start of the next epoch. out_metrics may be NULL; it is filled
        /// for STOPPED too. A batch whose step was skipped counts in it only if its loss is
        /// finite.</summary>
        /// <remarks>
        /// <para>Returns STOPPED after troika_trainer_request_stop, or if the progress callback
        /// returned non-zero, or if the dataset's callback wants to stop. After STOPPED and
        /// CALLBACK, and after a batch that is refused, the loader is at the batch after the last
        /// one that was trained on. After COMM and other errors of a step, go on from a training
        /// state instead.</para>
        /// <para>Errors: those of troika_trainer_step; INVALID_ARGUMENT also if the loader's
        /// dataset is too small for any batch; BUSY also if the loader is in use; CALLBACK (of the
        /// dataset or of the progress). One thread per trainer, and per loader, at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_train_epoch(
            TrainerHandle trainer, LoaderHandle loader, troika_metrics* out_metrics,
            out troika_error error);

        /// <summary>Trains as troika_trainer_train_epoch does, on at most batches of the epoch's
        /// remaining batches. No further step has begun when the call returns, so a training state
        /// that is saved then is exactly that of the last of these steps. Returns END_OF_DATA if
        /// the call reached the end of the epoch; the loader is then at the start of the next one.
        /// If the last batch of a stream is full, only the next call reaches the end.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_trainer_train_epoch; INVALID_ARGUMENT also if batches is
        /// below 1. One thread per trainer, and per loader, at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_train_batches(
            TrainerHandle trainer, LoaderHandle loader, long batches, troika_metrics* out_metrics,
            out troika_error error);

        /// <summary>Lets the loader read only those samples of each batch that this process's
        /// devices need, for troika_trainer_step and other calls that take a batch. Calls that take
        /// the loader do so themselves. Without a group the loader reads whole batches.</summary>
        /// <remarks>
        /// <para>Errors: BUSY (the trainer or the loader is in use), OUT_OF_MEMORY. One thread per
        /// trainer, and per loader, at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_divide_loader(
            TrainerHandle trainer, LoaderHandle loader, out troika_error error);

        /// <summary>Evaluates an epoch of the loader, from its first batch, on all attached
        /// devices. Sums losses and counts over the samples, so the result is exact for any number
        /// of samples. BatchNorm uses its running statistics; nothing is changed. Leaves the loader
        /// at the start of the next epoch, except after STOPPED.</summary>
        /// <remarks>
        /// <para>Returns STOPPED after troika_trainer_request_stop, or if the progress callback
        /// returned non-zero, or if the dataset's callback wants to stop. out_metrics may be NULL;
        /// it is filled for STOPPED too.</para>
        /// <para>Errors: those of troika_trainer_train_epoch. One thread per trainer, and per
        /// loader, at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_evaluate(
            TrainerHandle trainer, LoaderHandle loader, troika_metrics* out_metrics,
            out troika_error error);

        /// <summary>Evaluates as troika_trainer_evaluate does, on only one attached device, with no
        /// communication. In a group all processes call it, each with one of its devices and a
        /// loader of its own, because BatchNorm's running statistics may have to travel
        /// first.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_trainer_evaluate; NOT_ON_DEVICE if the model is not
        /// attached to device; UNSUPPORTED also if the model is split by layer or channel. One
        /// thread per trainer, and per loader, at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_evaluate_on(
            TrainerHandle trainer, Device device, LoaderHandle loader, troika_metrics* out_metrics,
            out troika_error error);

        /// <summary>Evaluates one batch as troika_trainer_evaluate does, such as a batch of the
        /// caller's own. out_result receives loss (mean or sum, by reduction), samples, labels,
        /// correct and seconds; its other fields are 0.</summary>
        /// <remarks>
        /// <para>Returns STOPPED after troika_trainer_request_stop. Errors: those of
        /// troika_trainer_step. One thread per trainer at a time; reads the batch.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_evaluate_batch(
            TrainerHandle trainer, BatchHandle batch, troika_step_result* out_result,
            out troika_error error);

        /// <summary>Predicts an epoch of the loader, from its first batch, on all attached devices.
        /// output is f32 [samples, the output's shape] in host memory, size_bytes long, with
        /// samples in the loader's order. *out_samples, if not NULL, receives the number of
        /// samples, also for STOPPED. Targets are not read. Leaves the loader at the start of the
        /// next epoch, except after STOPPED and errors.</summary>
        /// <remarks>
        /// <para>Returns STOPPED after troika_trainer_request_stop, or if the progress callback
        /// returned non-zero, or if the dataset's callback wants to stop.</para>
        /// <para>Errors: those of troika_trainer_predict; INVALID_ARGUMENT also if size_bytes is
        /// too small for the loader's samples, which a stream finds out at the batch that no longer
        /// fits, or if there is no batch; BUSY also if the loader is in use; CALLBACK. One thread
        /// per trainer, and per loader, at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_predict_loader(
            TrainerHandle trainer, LoaderHandle loader, float* output, long size_bytes,
            out long out_samples, out troika_error error);

        /// <summary>Predicts one batch as troika_trainer_predict does, into host memory: output is
        /// f32 [samples, the output's shape], size_bytes long. Targets are not read, and the batch
        /// may have none.</summary>
        /// <remarks>
        /// <para>Errors: those of troika_trainer_predict; INVALID_ARGUMENT also if size_bytes
        /// differs. One thread per trainer at a time; reads the batch.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_predict_batch(
            TrainerHandle trainer, BatchHandle batch, float* output, long size_bytes,
            out troika_error error);

        /// <summary>Runs the network in evaluation mode on all attached devices. input is [batch,
        /// ...], of the type of the model's input. The output is a new f32 tensor [batch, the
        /// output's shape] on the first device, with samples in the order of the input.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_output. Errors: INVALID_ARGUMENT (shape or dtype, a token
        /// outside its range), OUT_OF_MEMORY, UNSUPPORTED (an op that a device has no kernel for),
        /// BUSY, COMM, DETACHED. One thread per trainer at a time; reads input.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_predict(
            TrainerHandle trainer, TensorHandle input, out TensorHandle out_output,
            out troika_error error);

        /// <summary>Asks for a stop. Training on a loader, or evaluation, that is in progress
        /// returns STOPPED between two batches, also while it waits for the loader's thread. If
        /// neither is in progress, the next step, training or evaluation returns STOPPED. A step in
        /// progress completes; a plan that is being compiled is given up. The request holds until a
        /// call returns STOPPED, or until troika_trainer_clear_stop. Loading, saving and
        /// predicting, except troika_trainer_predict_loader, take no notice of it.</summary>
        /// <remarks>
        /// <para>Errors: only INVALID_ARGUMENT, if the handle is not a trainer's. Any thread, at
        /// any time; also from a signal handler.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_request_stop(
            TrainerHandle trainer, out troika_error error);

        /// <summary>Takes back a stop that was asked for and that no call has returned yet. Errors,
        /// threads and signal handlers: as troika_trainer_request_stop.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_clear_stop(
            TrainerHandle trainer, out troika_error error);

        /// <summary>Sets the base learning rate from the next step on; the schedule continues and
        /// multiplies the new rate. group is an index into the options' groups, or -1 for the
        /// trainer. A group then has its own rate.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (below 0, not finite, no such group), BUSY, COMM,
        /// DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_set_learning_rate(
            TrainerHandle trainer, int group, double learning_rate, out troika_error error);

        /// <summary>Returns in *out_learning_rate the learning rate that the next step will use,
        /// with schedule and warm-up applied. group is as in
        /// troika_trainer_set_learning_rate.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (no such group), BUSY. One thread per trainer at a
        /// time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_learning_rate(
            TrainerHandle trainer, int group, out double out_learning_rate, out troika_error error);

        /// <summary>Sets an option (TROIKA_OPTION_*) from the next step on. group is an index into
        /// the options' groups, or -1 for the trainer. A group without its own value has the
        /// trainer's.</summary>
        /// <remarks>
        /// <para>Nothing is attached or compiled again, except that TROIKA_OPTION_FROZEN makes new
        /// plans. Parameters that become frozen lose their optimizer state, and parameters that are
        /// no longer frozen begin without any. All other parameters keep theirs. A training state
        /// keeps the values of options, and loads into a trainer with the same groups
        /// frozen.</para>
        /// <para>Errors, after which nothing has changed:</para>
        /// <para>- INVALID_ARGUMENT: no such group; an option that the optimizer does not have; a
        /// value out of its range; nothing left to train.</para>
        /// <para>- INVALID_ARGUMENT: momentum above 0 if the trainer was attached without
        /// momentum.</para>
        /// <para>- OUT_OF_MEMORY, BUSY, COMM, DETACHED.</para>
        /// <para>One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_set_option(
            TrainerHandle trainer, int group, int option, double value, out troika_error error);

        /// <summary>Returns the value of an option (TROIKA_OPTION_*) in *out_value. The value of a
        /// learning rate is the base rate, before the schedule. group is as in
        /// troika_trainer_set_option.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (no such group, an option that the optimizer does not
        /// have), BUSY. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_option(
            TrainerHandle trainer, int group, int option, out double out_value,
            out troika_error error);

        /// <summary>Reports a metric of the caller to a trainer whose schedule is
        /// TROIKA_SCHEDULE_PLATEAU, usually once per evaluation. The learning rate may fall from
        /// the next step on.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (another schedule, a metric that is NaN), BUSY, COMM,
        /// DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_report_metric(
            TrainerHandle trainer, double metric, out troika_error error);

        /// <summary>Copies the parameter or buffer that the replica on device holds, row-major,
        /// into data in host memory, size_bytes long. If several replicas are on device, the first
        /// counts. A parameter that a split by channel has cut is copied whole, from all devices
        /// that hold a part.</summary>
        /// <remarks>
        /// <para>Errors: NOT_FOUND (no such name), NOT_ON_DEVICE (names the parameter, the device
        /// and the devices that hold the parameter), INVALID_ARGUMENT if the size differs,
        /// OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_parameter(
            TrainerHandle trainer, byte[] name, Device device, void* data, long size_bytes,
            out troika_error error);

        /// <summary>Copies the gradient of the last step into data in host memory, size_bytes long:
        /// f32, row-major, in the parameter's shape. The gradient is reduced over all devices,
        /// without the loss scale, and not clipped.</summary>
        /// <remarks>
        /// <para>Errors:</para>
        /// <para>- NOT_FOUND: no such name.</para>
        /// <para>- NOT_INITIALIZED: a frozen parameter or a buffer; no step yet, also since
        /// troika_trainer_load or since TROIKA_OPTION_FROZEN last changed.</para>
        /// <para>- INVALID_ARGUMENT: the size differs.</para>
        /// <para>- OUT_OF_MEMORY, BUSY, COMM, DETACHED.</para>
        /// <para>One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_get_gradient(
            TrainerHandle trainer, byte[] name, float* data, long size_bytes,
            out troika_error error);

        /// <summary>Compares parameters and optimizer state of all replicas bit by bit, and returns
        /// OK if they are identical. BatchNorm's running statistics are not compared: they belong
        /// to the first device. In a group, parameters of different processes are compared by
        /// checksums.</summary>
        /// <remarks>
        /// <para>Errors: MISMATCH (names parameter and devices), OUT_OF_MEMORY, BUSY, COMM,
        /// DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_check_replicas(
            TrainerHandle trainer, out troika_error error);

        /// <summary>Writes a training state, from which training resumes bit for bit on the same
        /// mesh and correctly on any other mesh; with logical_shards bit for bit there too. The
        /// state has parameters, buffers, optimizer state, schedule, step, seeds, and the place in
        /// the epoch after the last batch. It is one safetensors file, written atomically; its
        /// bytes do not depend on the mesh.</summary>
        /// <remarks>
        /// <para>Errors: IO, OUT_OF_MEMORY, BUSY, COMM, DETACHED. One thread per trainer at a
        /// time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_save(
            TrainerHandle trainer, byte[] path, out troika_error error);

        /// <summary>Fills options as TROIKA_SAVE_OPTIONS_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_save_options_init(
            troika_save_options* options, uint struct_size);

        /// <summary>Writes a training state as troika_trainer_save does, with options. options may
        /// be NULL.</summary>
        /// <remarks>
        /// <para>In the background, one file is written at a time: the call waits for the file
        /// before. An error of the file is returned by the next call of this function or of
        /// troika_trainer_wait_save, which then does nothing else. Destroying the trainer waits for
        /// the file.</para>
        /// <para>Errors: those of troika_trainer_save; INVALID_ARGUMENT (a field, which the message
        /// names; a path that ends in a slash). One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_save_with(
            TrainerHandle trainer, byte[] path, troika_save_options* options,
            out troika_error error);

        /// <summary>Waits until no file of troika_trainer_save_with is being written, and returns
        /// the error of the last one. Errors: those of troika_trainer_save. One thread per trainer
        /// at a time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_wait_save(
            TrainerHandle trainer, out troika_error error);

        /// <summary>Writes a model file, as troika_model_save does, with the moving averages of the
        /// parameters that are trained. Other parameters and buffers are written as they are. The
        /// file is written atomically.</summary>
        /// <remarks>
        /// <para>Errors: INVALID_ARGUMENT (attached without average_decay), IO, OUT_OF_MEMORY,
        /// BUSY, COMM, DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_save_average(
            TrainerHandle trainer, byte[] path, out troika_error error);

        /// <summary>Reads a training state. The model, the options that determine the run
        /// (precision, optimizer, loss, schedule, seed, groups and others), and every name and
        /// shape must agree. A refused file changes nothing.</summary>
        /// <remarks>
        /// <para>out_position, if not NULL, receives the place in the epoch for troika_loader_seek.
        /// A loader that is moved there must have the shuffle, seed, weights, flip and crop of the
        /// run that was saved. If its next batch has other samples, a step refuses that batch with
        /// INVALID_ARGUMENT. A loader that is not moved is not compared: its batches are at another
        /// place. With NULL the caller is responsible for the order.</para>
        /// <para>In a group of processes the call is collective, and the path names the same file
        /// in all. Each process reads the parameters, the optimizer state of its own devices, and a
        /// part of the data for the checksum. An error of one process is returned in all, and
        /// nothing changes.</para>
        /// <para>Errors: NOT_FOUND (no such file), IO, CORRUPT (its format, or the checksum of its
        /// data), OUT_OF_MEMORY, BUSY, COMM, DETACHED. MISMATCH: the message names the first
        /// difference, or the rank with another file. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_load(
            TrainerHandle trainer, byte[] path, troika_loader_position* out_position,
            out troika_error error);

        /// <summary>Returns the single-device model, which shares the trained parameters: another
        /// hold on the model that was attached. It can be used on any device: saved, printed, asked
        /// to predict, or attached again. The trainer stays usable.</summary>
        /// <remarks>
        /// <para>Owned: destroy *out_model with troika_model_destroy. Errors: OUT_OF_MEMORY, BUSY,
        /// DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_unwrap(
            TrainerHandle trainer, out ModelHandle out_model, out troika_error error);

        /// <summary>Fills info as TROIKA_MEMORY_INFO_INIT does. Any thread.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void troika_memory_info_init(
            troika_memory_info* info, uint struct_size);

        /// <summary>Returns the memory of replica replica (0 . . n-1). Errors: NOT_FOUND (no such
        /// replica), BUSY. One thread per trainer at a time.</summary>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_memory(
            TrainerHandle trainer, int replica, troika_memory_info* out_info,
            out troika_error error);

        /// <summary>Writes the plan for a training batch of batch samples as text: every launch of
        /// each replica, with its kernel, layouts and place in the arena. After the launches, a
        /// line per recording says how a GPU repeats them faster. Compiles the plan if it does not
        /// exist yet. The rules for the buffer are those of troika_model_print. Returns STOPPED,
        /// with nothing written, if a stop is requested while the plan is compiled.</summary>
        /// <remarks>
        /// <para>In a group the processes agree on the layouts of parameters with the first batch:
        /// before that, NOT_INITIALIZED.</para>
        /// <para>Errors: INVALID_ARGUMENT (a batch below 1 or one that no step would take, a
        /// capacity below 0), OUT_OF_MEMORY, UNSUPPORTED (an op that a device has no kernel for),
        /// BUSY, COMM, DETACHED. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_explain(
            TrainerHandle trainer, long batch, [Out] byte[] buffer, long capacity,
            out long out_size, out troika_error error);

        /// <summary>Writes the trace of the last step, one line per event: "replica begin_us end_us
        /// name", in microseconds and their tenths since the begin of the first event. Needs
        /// collect_trace. The rules for the buffer are those of troika_model_print.</summary>
        /// <remarks>
        /// <para>Times on a GPU are its own, taken by events around each launch; a replica's
        /// launches run one after another. A wait for other ranks is the time in which the launches
        /// wait for them. Times of different replicas may be shifted by as long as the host needs
        /// to notice the end of a step.</para>
        /// <para>Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (a capacity below 0),
        /// BUSY. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_trace(
            TrainerHandle trainer, [Out] byte[] buffer, long capacity, out long out_size,
            out troika_error error);

        /// <summary>Writes the trace of the last step as JSON in the Trace Event Format, which
        /// ui.perfetto.dev and chrome://tracing show: every launch, collective and message of all
        /// ranks. Needs collect_trace. The file appears whole or not at all.</summary>
        /// <remarks>
        /// <para>A process of the file is a process of the group. It has two kinds of
        /// tracks:</para>
        /// <para>- "rank 3, cpu:1": the launches of a rank, its messages, and the starts of
        /// collectives and the waits for them, one after another;</para>
        /// <para>- "rank 3, exchange": collectives, from the start until the result is there.
        /// Further tracks hold those that overlap. On GPUs a collective lasts until the end of its
        /// wait.</para>
        /// <para>Times are in microseconds since the begin of the first event. Arrows connect the
        /// two ends of a message. args has the kind of an event, and its kernel, operations and
        /// bytes if they are known: of a launch, the bytes that it reads and writes. The times of
        /// launches are those of troika_trainer_trace. Names and args may change in later
        /// versions.</para>
        /// <para>With a group the call is collective, each process with a file; rank 0 writes its
        /// file, and an error reaches all. Processes of one machine have one clock. The clocks of
        /// other machines are compared by messages: otherData of the file has clock_error_us, by
        /// process, the most that times may be wrong.</para>
        /// <para>Errors: NOT_INITIALIZED without a trace, INVALID_ARGUMENT (file is NULL), IO,
        /// OUT_OF_MEMORY, BUSY, COMM. One thread per trainer at a time.</para>
        /// </remarks>
        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Status troika_trainer_save_trace(
            TrainerHandle trainer, byte[] file, out troika_error error);
    }
}
