//! Models: layers, parameters, descriptions, files, predictions, plans.

use super::*;
use troika::{
    Conv1dOptions, Conv2dOptions, DeviceKind, Dtype, Initializer, LoadOptions, Mesh, ModelOptions,
    PlanOptions, Pool2dOptions, Status, Tensor,
};

/// The shape of a layer's output, and the elements of its parameters.
fn form(model: &Model, name: &str) -> Result<(Vec<i64>, i64)> {
    let info = model.describe_layer(model.find_layer(name)?)?;
    assert_eq!(info.name, name);
    assert_eq!(model.describe_value(info.output)?.dims, info.dims);
    Ok((info.dims, info.parameters))
}

#[test]
fn scores() -> Result<()> {
    let outputs = [3.0, 1.0, 0.0, 2.0, 5.0, 1.0];
    let report = troika::ScoreReport::compute(&outputs, &[0, 1, 1], 1, true)?;
    assert_eq!(report.all.accuracy, 2.0 / 3.0);
    assert_eq!(report.confusion, [1, 0, 1, 1]);
    assert_eq!((report.classes[1].labels, report.classes[0].precision), (2, 0.5));
    for (labels, message) in [(&[0, 1, 1, 0][..], "need as many"), (&[7, 1, 1], "is 7")] {
        let refused = troika::ScoreReport::compute(&outputs, labels, 1, true).unwrap_err();
        assert_eq!(refused.status(), Status::InvalidArgument);
        assert!(refused.to_string().contains(message), "{refused}");
    }
    Ok(())
}

#[test]
fn layers_of_signals() -> Result<()> {
    let mut net = Model::create_empty(&context(), "signals")?;
    let x = net.add_input("x", &[4, 16])?;
    let x = net.add_conv1d(
        "conv",
        x,
        &Conv1dOptions { out_channels: 6, kernel: 3, ..Default::default() },
    )?;
    let x = net.add_batch_norm1d("bn", x, 1e-5, 0.1)?;
    let x = net.add_layer_norm("layer", x, 1, 1e-5)?;
    let x = net.add_slice("slice", x, 2, 0..12)?;
    let gate = net.add_sigmoid("sigmoid", x)?;
    let x = net.add_tanh("tanh", x)?;
    let x = net.add_product("product", gate, x)?;
    let x = net.add_reshape("image", x, &[6, 4, -1])?;
    let x = net.add_group_norm("group", x, 2, 1e-5)?;
    assert_eq!(net.describe_value(x)?.dims, [6, 4, 3]);
    let up =
        Conv2dOptions { out_channels: 4, kernel: [2, 2], stride: [2, 2], ..Default::default() };
    let x = net.add_conv_transpose2d("up", x, &up)?;
    let x = net.add_silu("silu", x)?;
    let x = net.add_leaky_relu("leaky", x, 0.01)?;
    let x = net.add_softmax("softmax", x, -1)?;
    let x = net.add_concat("concat", &[x, x], 1)?;
    assert_eq!(net.describe_value(x)?.dims, [8, 8, 6]);
    let x = net.add_mean("mean", x, Some(&[2, 3]), false)?;
    let x = net.add_rms_norm("rms", x, 1, 1e-5)?;
    let x = net.add_linear("a", x, 8, true)?;
    net.share_parameter("b.weight", "a.weight")?;
    let x = net.add_linear("b", x, 8, true)?;
    net.set_output(x)?;
    net.initialize_default(1)?;
    net.initialize_layers("linear", "weight", Initializer::Constant, 0.5, 0)?;
    let mut shared = [0.0f32; 64];
    net.get_parameter("b.weight", &mut shared)?;
    assert_eq!(shared, [0.5; 64]);
    let refused = net.initialize_layers("gru", "*", Initializer::Constant, 0.0, 0).unwrap_err();
    assert_eq!(refused.status(), Status::NotFound);
    Ok(())
}

#[test]
fn layers_of_images() -> Result<()> {
    let mut net = Model::create_empty(&context(), "net")?;
    let x = net.add_input("x", &[2, 8, 8])?;
    let conv = Conv2dOptions {
        out_channels: 4,
        kernel: [3, 3],
        padding: [1, 1],
        no_bias: true,
        ..Default::default()
    };
    let a = net.add_conv2d("conv", x, &conv)?;
    let b = net.add_batch_norm2d("norm", a, 1e-5, 0.1)?;
    let b = net.add_relu("relu", b)?;
    let b = net.add_sum("sum", a, b)?;
    let pool = Pool2dOptions { kernel: [2, 2], ..Default::default() };
    let b = net.add_max_pool2d("max", b, &pool)?;
    let overlapping = Pool2dOptions { stride: Some([1, 1]), ..pool };
    let b = net.add_avg_pool2d("avg", b, &overlapping)?;
    let b = net.add_adaptive_avg_pool2d("adaptive", b, 2, 1)?;
    let b = net.add_gelu("gelu", b)?;
    let b = net.add_dropout("dropout", b, 0.5)?;
    let b = net.add_flatten("flatten", b)?;
    let b = net.add_linear("fc", b, 3, false)?;
    assert!(!net.describe()?.is_complete);
    net.set_output(b)?;

    let forms = [
        ("x", vec![2, 8, 8], 0),
        ("conv", vec![4, 8, 8], 4 * 2 * 9),
        ("norm", vec![4, 8, 8], 8),
        ("relu", vec![4, 8, 8], 0),
        ("sum", vec![4, 8, 8], 0),
        ("max", vec![4, 4, 4], 0),
        ("avg", vec![4, 3, 3], 0),
        ("adaptive", vec![4, 2, 1], 0),
        ("gelu", vec![4, 2, 1], 0),
        ("dropout", vec![4, 2, 1], 0),
        ("flatten", vec![8], 0),
        ("fc", vec![3], 24),
    ];
    for (name, dims, parameters) in &forms {
        assert_eq!(form(&net, name)?, (dims.clone(), *parameters), "{name}");
    }
    let sum = net.describe_layer(4)?;
    assert_eq!((sum.kind.as_str(), sum.inputs.len()), ("sum", 2));
    assert_eq!(sum.inputs[0], a);
    let info = net.describe()?;
    assert_eq!((info.layers, info.parameters, info.output_dims), (12, 104, vec![3]));
    assert_eq!(info.name, "net");
    assert!(info.is_complete);
    let layers: Vec<_> = net.layers()?.map(|layer| layer.name).collect();
    assert_eq!(layers, forms.map(|form| form.0));
    assert_eq!(net.add_relu("late", b).unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn layers_of_sequences() -> Result<()> {
    let mut net = Model::create_empty(&context(), "net")?;
    assert_eq!(net.describe()?.input_dtype, None);
    let x = net.add_typed_input("x", Dtype::I32, &[5])?;
    let x = net.add_embedding("embedding", x, 10, 4)?;
    let x = net.add_lstm("lstm", x, 3, true)?;
    let x = net.add_gru("gru", x, 2, false)?;
    let x = net.add_linear_per_position("linear", x, 6, true)?;
    let x = net.add_select_step("last", x, -1)?;
    net.set_output(x)?;
    assert_eq!(form(&net, "embedding")?, (vec![5, 4], 40));
    assert_eq!(form(&net, "lstm")?, (vec![5, 3], 12 * 4 + 12 * 3 + 24));
    assert_eq!(form(&net, "gru")?, (vec![5, 2], 6 * 3 + 6 * 2));
    assert_eq!(form(&net, "linear")?, (vec![5, 6], 18));
    assert_eq!(form(&net, "last")?, (vec![6], 0));
    assert_eq!(net.describe()?.input_dtype, Some(Dtype::I32));
    net.initialize_default(0)?;
    let mut output = [0.0; 6];
    net.predict_into(CPU, &[1_i32, 2, 3, 4, 5], None, &mut output)?;
    assert!(output.iter().all(|x| x.is_finite()) && output != [0.0; 6]);
    Ok(())
}

#[test]
fn the_zoo() -> Result<()> {
    let context = context();
    let names: Vec<_> = troika::zoo_names().collect();
    assert!(names.contains(&"d2l_lenet") && names.contains(&"resnet50"), "{names:?}");
    let options = ModelOptions { classes: Some(7), hidden: Some(5), ..Default::default() };
    let mlp = Model::new(&context, "mlp", &options)?;
    let info = mlp.describe()?;
    assert_eq!((info.input_dims, info.output_dims), (vec![1, 28, 28], vec![7]));
    assert_eq!(mlp.count_parameters()?, (4, 784 * 5 + 5 + 5 * 7 + 7));
    let nearest = mlp.find_layer("nowhere").unwrap_err();
    assert_eq!(nearest.status(), Status::NotFound);
    assert!(mlp.print()?.starts_with("mlp") || mlp.print()?.contains("Linear"));
    assert!(mlp.to_json()?.starts_with("{\"") && mlp.to_json()?.ends_with('}'));
    // The text of a larger model does not fit into the first buffer.
    let resnet = Model::new(&context, "resnet18", &Default::default())?;
    assert!(resnet.to_json()?.len() > 4096 && resnet.to_json()?.ends_with('}'));
    Ok(())
}

#[test]
fn parameters() -> Result<()> {
    let context = context();
    let mut net = model(&context);
    let weight = net.describe_parameter(0)?;
    assert_eq!((weight.name.as_str(), weight.dims), ("fc.weight", vec![3, 4]));
    assert!(weight.is_initialized && !weight.is_buffer);
    assert_eq!(net.describe_parameter(2).unwrap_err().status(), Status::NotFound);
    let all = net.parameters()?;
    assert_eq!(all.len(), 2);
    assert_eq!(all.map(|info| info.name).collect::<Vec<_>>(), ["fc.weight", "fc.bias"]);
    assert_eq!(Model::create_empty(&context, "empty")?.parameters()?.len(), 0);
    assert_eq!(net.find_parameter("fc.bias")?, 1);
    assert_eq!(net.find_parameter("fc.bia").unwrap_err().status(), Status::NotFound);
    net.initialize(Some("*.bias"), Initializer::Constant, 0.5, 0)?;
    assert_eq!(bias(&net)?, [0.5; 3]);
    net.initialize(None, Initializer::KaimingUniform, 0.0, 3)?;
    let mut values = [0.0_f32; 12];
    net.get_parameter("fc.weight", &mut values)?;
    let bound = (6.0_f32 / 4.0).sqrt();
    assert!(values.iter().all(|x| x.abs() <= bound) && values.iter().any(|x| x.abs() > 0.1));
    let missing = net.set_parameter("fc.bias", &[0.0_f32; 2]).unwrap_err();
    assert_eq!(missing.status(), Status::InvalidArgument);
    let mut fresh = Model::new(&context, "mlp", &Default::default())?;
    let unset = fresh.get_parameter("nothing", &mut values).unwrap_err();
    assert_eq!(unset.status(), Status::NotFound);
    fresh.initialize_default(1)?;
    assert!(fresh.describe_parameter(0)?.is_initialized);
    Ok(())
}

#[test]
fn predictions() -> Result<()> {
    let context = context();
    let net = model(&context);
    let mut output = [9.0; 6];
    net.predict_into(CPU, &[0.0_f32; 8], None, &mut output)?;
    assert_eq!(output, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    net.predict_into(CPU, &[0.0_f32; 8], Some("fc"), &mut output)?;
    let error = net.predict_into(CPU, &[0.0_f32; 8], Some("nowhere"), &mut output).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    let input = Tensor::new(&context, CPU, &[1, 4], &[0.0_f32; 4])?;
    let output = net.predict(Device::cpu(1), &input)?;
    assert_eq!(output.describe()?.device, Device::cpu(1));
    assert_eq!(output.to_vec::<f32>()?, [0.0, 1.0, 2.0]);
    let empty = Model::create_empty(&context, "empty")?;
    let error = empty.predict_into(CPU, &[0.0_f32; 4], None, &mut [0.0; 3]).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn files() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    let path = folder.file("weights.safetensors");
    let net = model(&context);
    net.save(&path)?;
    assert_eq!(bias(&Model::open(&context, &path)?)?, [0.0, 1.0, 2.0]);
    let listed = troika::file_inspect(&path)?;
    assert!(listed.contains("fc.bias F32 [3]"), "{listed}");

    let file = net.save_memory()?;
    assert_eq!(file, std::fs::read(&path).unwrap());
    let mut other = Model::open_memory(&context, &file)?;
    other.set_parameter("fc.bias", &[9.0_f32; 3])?;
    assert_eq!(other.load(&path, &Default::default())?.loaded, 2);
    assert_eq!(bias(&other)?, [0.0, 1.0, 2.0]);
    assert_eq!(other.load_memory(&file, &Default::default())?.loaded, 2);
    let corrupt = Model::open_memory(&context, &file[..file.len() - 1]).unwrap_err();
    assert_eq!(corrupt.status(), Status::Corrupt);
    Ok(())
}

#[test]
fn a_file_with_other_names_is_a_mismatch_with_a_report() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    let path = folder.file("weights.safetensors");
    model(&context).save(&path)?;
    let mut other = Model::create_empty(&context, "other")?;
    let x = other.add_input("x", &[4])?;
    let x = other.add_linear("fc", x, 3, false)?;
    let x = other.add_linear("more", x, 3, false)?;
    other.set_output(x)?;
    let error = other.load(&path, &Default::default()).unwrap_err();
    assert_eq!(error.status(), Status::Mismatch);
    let report = error.load_report().unwrap();
    assert_eq!((report.missing, report.unexpected), (1, 1));
    assert!(report.names.contains("missing more.weight\n"), "{}", report.names);
    let partial = LoadOptions { allow_partial: true, ..Default::default() };
    assert_eq!(other.load(&path, &partial)?.loaded, 1);
    let prefix = LoadOptions { strip_prefix: Some("f".into()), ..partial };
    assert_eq!(other.load(&path, &prefix).unwrap_err().status(), Status::Mismatch);
    Ok(())
}

#[test]
fn a_clone_shares_values() -> Result<()> {
    let net = model(&context());
    let mut clone = net.try_clone()?;
    clone.set_parameter("fc.bias", &[5.0_f32, 6.0, 7.0])?;
    assert_eq!(bias(&net)?, [5.0, 6.0, 7.0]);
    Ok(())
}

#[test]
fn plans() -> Result<()> {
    let resnet = Model::new(&context(), "resnet18", &Default::default())?;
    let options = PlanOptions {
        devices: 4,
        device_kind: Some(DeviceKind::Cuda),
        trainer: Some(TrainerOptions { momentum: 0.9, micro_batches: 2, ..Default::default() }),
        ..Default::default()
    };
    let plan = resnet.plan_estimate(&options, None)?;
    assert_eq!(plan.mesh, Mesh { data: 4, layer: 1, channel: 1 });
    let parameters = plan.parameter_bytes as f64 / 4.0 / resnet.describe()?.parameters as f64;
    assert!((1.0..1.01).contains(&parameters), "{parameters}"); // buffers count, too
    assert!(plan.fits && plan.optimizer_bytes > 0 && plan.seconds > 0.0);
    let split = Mesh { layer: 2, ..Default::default() };
    let plan = resnet.plan_estimate(&options, Some(&split))?;
    assert_eq!(plan.mesh, Mesh { data: 2, layer: 2, channel: 1 });
    assert!(resnet.plan_choose(&options)?.seconds <= plan.seconds);
    let wrong = Mesh { data: 3, layer: 1, channel: 1 };
    let error = resnet.plan_estimate(&options, Some(&wrong)).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    Ok(())
}
