namespace Troika
{
    public sealed partial class StepResult
    {
        /// <summary>Ok, StepSkipped or Stopped. After Stopped the other fields are 0.</summary>
        public Status Status { get; internal set; }
    }

    public sealed partial class Metrics
    {
        /// <summary>Ok, EndOfData or Stopped. After Stopped the other fields count the batches so
        /// far.</summary>
        public Status Status { get; internal set; }
    }
}
