//! Errors: their status, their one line, and misuse that the crate itself finds.

use super::*;
use std::error::Error as _;
use std::path::Path;
use troika::{
    Arrays, Conv2dOptions, Element, Error, Initializer, ModelOptions, Setting, Status, Targets,
    Tensor,
};

fn expect<T: std::fmt::Debug>(result: Result<T>, status: Status, part: &str) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.status(), status, "{error}");
    assert!(error.message().contains(part), "{error}");
    assert!(!error.message().contains('\n'), "{error}");
    error
}

#[test]
fn the_library_s_line_is_unchanged() {
    let context = context();
    let error = expect(
        Model::new(&context, "d2l_lenet5", &Default::default()),
        Status::NotFound,
        "d2l_lenet5",
    );
    assert_eq!(error.to_string(), error.message());
    assert_eq!(format!("{error:?}"), format!("NotFound: {error}"));
    assert!(error.source().is_none());
    assert!(error.load_report().is_none());
    let options = ModelOptions { classes: Some(0), ..Default::default() };
    expect(Model::new(&context, "mlp", &options), Status::InvalidArgument, "classes");
}

#[test]
fn a_status_has_a_name() {
    assert_eq!(Status::Busy.name(), "TROIKA_ERROR_BUSY");
    assert_eq!(Status::StepSkipped.to_string(), "TROIKA_STEP_SKIPPED");
    assert_eq!(Status::Other(77).name(), "unknown status");
    assert!(Status::Comm.is_error() && !Status::Stopped.is_error());
}

#[test]
fn the_library_is_known() {
    assert!(troika::version() / 10000 == 1 && troika::version() >= 10100);
    let version = troika::version();
    let text = format!("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
    assert!(troika::build_info().contains(&text), "{}", troika::build_info());
}

#[test]
fn an_error_travels() {
    fn open() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Model::open(&context(), "no/such/file")?;
        Ok(())
    }
    let error = open().unwrap_err();
    assert_eq!(error.downcast_ref::<Error>().unwrap().status(), Status::NotFound);
}

#[test]
fn text_with_a_nul_is_refused() {
    let context = context();
    let part = "name: the text has a NUL at byte 2";
    expect(Model::new(&context, "ml\0p", &Default::default()), Status::InvalidArgument, part);
    expect("cp\0u".parse::<Device>(), Status::InvalidArgument, "device: the text has a NUL");
    let options = TrainerOptions { layer_cuts: Some("\0".into()), ..Default::default() };
    expect(model(&context).attach(&[CPU], &options), Status::InvalidArgument, "layer_cuts: ");
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"\xff"));
    expect(troika::file_inspect(path), Status::InvalidArgument, "is not UTF-8");
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let context = context();
    let invalid = Status::InvalidArgument;
    let part = "tensor: 5 elements, the shape [2, 3] has 6";
    expect(Tensor::new(&context, CPU, &[2, 3], &[0.0_f32; 5]), invalid, part);
    let part = "tensor: 3 bytes, needs a multiple of 2";
    let bf16 = troika::Dtype::Bf16;
    expect(Tensor::from_bytes(&context, CPU, bf16, &[1], &[0; 3]), invalid, part);
    expect(Tensor::zeros(&context, CPU, bf16, &[2, -1]), invalid, "-1");

    let part = "arrays: inputs have 5 elements, samples [2] need a multiple of 2";
    expect(Dataset::create_from(&context, Arrays::new(&[0_u8; 5], &[2])), invalid, part);
    let arrays = Arrays::new(vec![0_u8; 6], &[2]).targets(vec![0_i32; 4]);
    expect(Dataset::create_from(&context, arrays), invalid, "targets: 4 elements");
    let targets = Targets::Labels(&[0, 1, 2, 3]);
    expect(Dataset::create_arrays(&context, &[0.0; 4], &[2], targets), invalid, "2 labels");
    expect(
        Dataset::create_tokens(&context, &[1_u8, 2, 3], 2, &[0], None),
        invalid,
        "dataset: 3 elements, samples [2] need a multiple of 2",
    );

    let weights = LoaderOptions { batch: 4, weights: vec![1.0; 31], ..Default::default() };
    let part = "loader: 31 weights, the dataset has 32 samples";
    expect(Loader::new(&dataset(&context), &weights), invalid, part);

    let model = model(&context);
    let mut output = [0.0; 3];
    let part = "model: 5 inputs, need a multiple of 4";
    expect(model.predict_into(CPU, &[0.0_f32; 5], None, &mut output), invalid, part);
    let part = "model: inputs are I32, need F32";
    expect(model.predict_into(CPU, &[0_i32; 4], None, &mut output), invalid, part);
    expect(model.predict_into(CPU, &[0.0_f32; 8], None, &mut output), invalid, "size_bytes");
}

#[test]
fn a_shape_without_elements_is_refused_by_the_library() {
    let context = context();
    let arrays = Arrays::new(&[0.0_f32; 4], &[-1]);
    expect(Dataset::create_from(&context, arrays), Status::InvalidArgument, "-1");
    let targets = Targets::Labels(&[]);
    let created = Dataset::create_arrays(&context, &[], &[-1], targets);
    expect(created, Status::InvalidArgument, "-1");
}

#[test]
fn types_that_do_not_fit_are_refused() {
    let context = context();
    let mut tensor = Tensor::new(&context, CPU, &[2], &[1.0_f32, 2.0]).unwrap();
    let part = "tensor: elements are F32, data is I32";
    expect(tensor.to_vec::<i32>(), Status::InvalidArgument, part);
    expect(tensor.to_host(&mut [0_i32; 2]), Status::InvalidArgument, part);
    expect(tensor.from_host(&[0_i32; 2]), Status::InvalidArgument, part);
    expect(tensor.to_host(&mut [0.0_f32; 3]), Status::InvalidArgument, "size_bytes");
    let windows = Dataset::create_token_stream(&context, &[1.0_f32], 1);
    expect(windows, Status::InvalidArgument, "dtype");
}

/// The elements have the size of the parameter, which is all that C compares.
#[test]
fn parameters_of_another_type_are_refused() -> Result<()> {
    fn refused<T: Element + Default>(model: &mut Model, name: &str, bytes: usize) -> Result<()> {
        let mut data = vec![T::default(); bytes / T::DTYPE.size()];
        let part = format!("parameter '{name}': elements are {:?}, need ", T::DTYPE);
        expect(model.get_parameter(name, &mut data), Status::InvalidArgument, &part);
        expect(model.set_parameter(name, &data), Status::InvalidArgument, &part);
        let trainer = model.attach(&[CPU], &Default::default())?;
        let of_replica = trainer.get_parameter(name, CPU, &mut data);
        expect(of_replica, Status::InvalidArgument, &part);
        Ok(())
    }
    let mut net = Model::create_empty(&context(), "net")?;
    let x = net.add_input("x", &[4])?;
    let x = net.add_linear("fc", x, 3, true)?;
    let x = net.add_batch_norm1d("bn", x, 1e-5, 0.1)?;
    net.set_output(x)?;
    net.initialize_default(1)?;
    net.initialize(Some("fc.weight"), Initializer::Constant, 0.5, 0)?;
    refused::<f64>(&mut net, "fc.weight", 48)?;
    refused::<i32>(&mut net, "fc.weight", 48)?;
    refused::<i64>(&mut net, "fc.weight", 48)?;
    refused::<u8>(&mut net, "fc.weight", 48)?;
    refused::<f32>(&mut net, "bn.num_batches_tracked", 8)?;
    let mut values = [0.0_f32; 12];
    net.get_parameter("fc.weight", &mut values)?;
    assert_eq!(values, [0.5; 12]);
    let mut batches = [9_i64];
    net.get_parameter("bn.num_batches_tracked", &mut batches)?;
    assert_eq!(batches, [0]);
    net.set_parameter("bn.num_batches_tracked", &[7_i64])
}

#[test]
fn a_field_that_must_be_set_is_named() {
    let context = context();
    let loader = Loader::new(&dataset(&context), &Default::default());
    expect(loader, Status::InvalidArgument, "batch");
    let mut model = Model::create_empty(&context, "net").unwrap();
    let x = model.add_input("x", &[1, 8, 8]).unwrap();
    let options = Conv2dOptions { out_channels: 2, ..Default::default() };
    expect(model.add_conv2d("conv", x, &options), Status::InvalidArgument, "kernel");
}

#[test]
fn an_object_that_was_dropped_takes_no_calls() {
    let context = context();
    let trainer = trainer(&context, &Default::default());
    let stop = trainer.stop_handle();
    stop.request_stop().unwrap();
    drop(trainer);
    expect(stop.request_stop(), Status::InvalidArgument, "its trainer was dropped");
    expect(stop.clone().clear_stop(), Status::InvalidArgument, "its trainer was dropped");
}

#[test]
fn a_trainer_of_a_model_that_was_attached_again_is_detached() {
    let context = context();
    let mut model = model(&context);
    let mut first = model.attach(&[CPU], &Default::default()).unwrap();
    let mut second = model.attach(&[CPU], &Default::default()).unwrap();
    let mut loader = loader(&context, 8);
    expect(first.train_epoch(&mut loader), Status::Detached, "");
    assert!(!first.describe().unwrap().is_usable);
    assert_eq!(second.train_epoch(&mut loader).unwrap().samples, 32);
    let part = "no such group";
    let error = second.get_option(Some(3), Setting::Momentum).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{part}: {error}");
    let index = second.memory(usize::MAX).unwrap_err();
    assert!(index.message().starts_with("replica: "), "{index}");
}
