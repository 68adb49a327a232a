//! Trainers: steps, epochs, pieces, settings, files, descriptions.

use super::*;
use std::time::Duration;
use troika::{
    Batch, ForwardOptions, LayerSchedule, Loss, Mesh, Optimizer, ParameterGroup, Precision,
    Reduction, SaveOptions, Schedule, Setting, Status, Targets, Tensor,
};

/// A batch of zeros: with the model of these tests, its outputs are the biases.
fn zeros(context: &Context, labels: &[i32]) -> Result<Batch<'static>> {
    let n = labels.len() as i64;
    let inputs = Tensor::new(context, CPU, &[n, 4], &vec![0.0_f32; 4 * labels.len()])?;
    let targets = Tensor::new(context, CPU, &[n], labels)?;
    Batch::new(&inputs, Some(&targets))
}

/// The softmax of the biases 0, 1 and 2.
fn softmax() -> [f64; 3] {
    let exponentials = [0.0_f64, 1.0, 2.0].map(f64::exp);
    let sum: f64 = exponentials.iter().sum();
    exponentials.map(|e| e / sum)
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} {expected}");
}

#[test]
fn a_step_has_the_loss_of_softmax() -> Result<()> {
    let context = context();
    let options = TrainerOptions { learning_rate: 0.5, ..Default::default() };
    let mut trainer = trainer(&context, &options);
    let batch = zeros(&context, &[2, 0])?;
    let p = softmax();
    let loss = -(p[2].ln() + p[0].ln()) / 2.0;
    let evaluated = trainer.evaluate_batch(&batch)?;
    assert_close(evaluated.loss, loss);
    assert_eq!((evaluated.samples, evaluated.correct, evaluated.step), (2, 1, 0));
    let step = trainer.step(&batch)?;
    assert_close(step.loss, loss);
    assert_eq!((step.status, step.step, step.learning_rate), (Status::Ok, 1, 0.5));
    let mut gradient = [0.0; 3];
    trainer.get_gradient("fc.bias", &mut gradient)?;
    assert_close(gradient[1].into(), p[1]);
    assert_close(gradient[2].into(), p[2] - 0.5);
    let mut updated = [0.0_f32; 3];
    trainer.get_parameter("fc.bias", CPU, &mut updated)?;
    assert_close(updated[1].into(), 1.0 - 0.5 * p[1]);
    assert_eq!(bias(&trainer.unwrap()?)?, updated);
    let error = trainer.get_parameter("fc.bias", Device::cpu(5), &mut updated).unwrap_err();
    assert_eq!(error.status(), Status::NotOnDevice);
    Ok(())
}

#[test]
fn epochs_and_batches() -> Result<()> {
    let context = context();
    let options = TrainerOptions { learning_rate: 0.1, ..Default::default() };
    let mut trainer = trainer(&context, &options);
    let mut loader = loader(&context, 10);
    let first = trainer.evaluate(&mut loader)?;
    assert_eq!((first.samples, first.status), (32, Status::Ok));
    assert_eq!(trainer.evaluate_on(CPU, &mut loader)?.loss, first.loss);
    let part = trainer.train_batches(&mut loader, 3)?;
    assert_eq!((part.samples, part.status), (30, Status::Ok));
    let rest = trainer.train_batches(&mut loader, 3)?;
    assert_eq!((rest.samples, rest.status), (2, Status::EndOfData));
    for _ in 0..30 {
        assert_eq!(trainer.train_epoch(&mut loader)?.samples, 32);
    }
    let last = trainer.evaluate(&mut loader)?;
    assert!(last.loss < 0.6 * first.loss && last.accuracy > 0.8, "{first:?} {last:?}");
    assert_eq!(last.accuracy, last.correct as f64 / 32.0);
    trainer.divide_loader(&mut loader)?;
    assert_eq!(trainer.train_epoch(&mut loader)?.samples, 32);
    assert_eq!(trainer.describe()?.step, 32 * 4);
    let refused = trainer.train_batches(&mut loader, 0).unwrap_err();
    assert_eq!(refused.status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_loop_of_steps_is_an_epoch() -> Result<()> {
    let context = context();
    let mut by_epoch = trainer(&context, &Default::default());
    by_epoch.train_epoch(&mut loader(&context, 10))?;
    let mut by_steps = trainer(&context, &Default::default());
    let mut loader = loader(&context, 10);
    while let Some(batch) = loader.next_batch()? {
        by_steps.step(&batch)?;
    }
    assert_eq!(bias(&by_epoch.unwrap()?)?, bias(&by_steps.unwrap()?)?);
    Ok(())
}

#[test]
fn two_devices() -> Result<()> {
    let context = context();
    let devices = [CPU, Device::cpu(1)];
    let mut trainer = model(&context).attach(&devices, &Default::default())?;
    assert_eq!(trainer.train_epoch(&mut loader(&context, 16))?.samples, 32);
    trainer.check_replicas()?;
    assert_eq!(trainer.get_devices()?, devices);
    let info = trainer.describe()?;
    assert_eq!((info.device_count, info.mesh), (2, Mesh { data: 2, layer: 1, channel: 1 }));
    assert_eq!((info.step, info.trained_elements), (2, 15));
    assert!(trainer.memory(1)?.parameter_bytes >= 60);
    assert_eq!(trainer.memory(2).unwrap_err().status(), Status::NotFound);
    assert!(trainer.to_json()?.contains("cpu:1"));
    assert!(trainer.explain(16)?.unwrap().contains("linear"));
    Ok(())
}

#[test]
fn predictions() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 20);
    let mut all = vec![0.0; 32 * 3];
    let predicted = trainer.predict_loader(&mut loader, &mut all)?;
    assert_eq!((predicted.samples, predicted.status), (32, Status::Ok));
    assert!(all.chunks(3).all(|sample| sample == [0.0, 1.0, 2.0]));
    let mut one = [0.0; 60];
    let batch = loader.next_batch()?.unwrap();
    trainer.predict_batch(&batch, &mut one)?;
    assert_eq!(one[..3], [0.0, 1.0, 2.0]);
    let small = trainer.predict_batch(&batch, &mut one[..3]).unwrap_err();
    assert_eq!(small.status(), Status::InvalidArgument);
    let input = Tensor::new(&context, CPU, &[1, 4], &[0.0_f32; 4])?;
    assert_eq!(trainer.predict(&input)?.to_vec::<f32>()?, [0.0, 1.0, 2.0]);
    Ok(())
}

#[test]
fn pieces_are_a_step() -> Result<()> {
    let context = context();
    let batch = zeros(&context, &[1, 1])?;
    let mut trainer =
        trainer(&context, &TrainerOptions { learning_rate: 1.0, ..Default::default() });
    assert_eq!(trainer.backward(None).unwrap_err().status(), Status::NotInitialized);
    let forward = trainer.forward(&batch, &Default::default())?;
    assert_close(forward.loss, -softmax()[1].ln());
    trainer.backward(None)?;
    trainer.set_gradient("fc.bias", &[1.0, 2.0, 3.0])?;
    assert_eq!(trainer.apply()?.step, 1);
    assert_eq!(bias(&trainer.unwrap()?)?, [-1.0, -1.0, -1.0]);

    // A loss of the caller's own, with the gradient of the inputs.
    let options = ForwardOptions { own_loss: true, input_gradient: true, ..Default::default() };
    let (output, result) = trainer.forward_with_output(&batch, &options)?;
    let output = output.unwrap();
    assert_eq!((output.describe()?.dims, result.samples), (vec![2, 3], 2));
    assert_eq!(output.to_vec::<f32>()?, [-1.0; 6]);
    let gradient = Tensor::new(&context, CPU, &[2, 3], &[0.25_f32; 6])?;
    trainer.backward(Some(&gradient))?;
    let mut of_inputs = [9.0; 8];
    trainer.get_input_gradient(&mut of_inputs)?;
    assert_eq!(of_inputs, [0.0; 8]); // the weights are 0
    trainer.apply()?;
    assert_eq!(bias(&trainer.unwrap()?)?, [-1.5; 3]);
    Ok(())
}

#[test]
fn pending_steps() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 16);
    let mut pending = Vec::new();
    while let Some(batch) = loader.next_batch()? {
        pending.push(trainer.step_async(&batch)?);
    }
    let steps: Result<Vec<_>> = pending.iter().map(|step| step.wait().map(|r| r.step)).collect();
    assert_eq!(steps?, [1, 2]);
    assert!(pending[1].poll()?);
    assert_eq!(pending[1].wait_timeout(Duration::ZERO)?.unwrap().samples, 16);
    drop(pending);

    let (sender, receiver) = std::sync::mpsc::channel();
    let batch = zeros(&context, &[0])?;
    let step = trainer.step_async_with(&batch, move |result| sender.send(result).unwrap())?;
    let result = step.wait()?;
    assert_eq!(receiver.try_recv().unwrap()?, result);
    assert_eq!(step.wait_timeout(Duration::from_secs(1))?, Some(result));

    // The error of a step is that of the pending step, and of its closure.
    let (sender, receiver) = std::sync::mpsc::channel();
    let step = trainer.step_async_with(&zeros(&context, &[3])?, move |result| {
        sender.send(result.unwrap_err().status()).unwrap();
    })?;
    assert_eq!(step.wait().unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(receiver.recv().unwrap(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_pending_step_that_has_not_ended() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let batch = zeros(&context, &[0])?;
    // The closure of the first step holds up the second.
    let first = trainer.step_async_with(&batch, move |_| wait.recv().unwrap())?;
    let second = trainer.step_async(&batch)?;
    assert_eq!(first.wait_timeout(Duration::from_millis(20))?, None);
    let held_up = second.wait_timeout(Duration::from_millis(20))?;
    go_on.send(()).unwrap();
    assert_eq!(second.wait()?.step, 2);
    assert_eq!(first.wait()?.step, 1);
    assert!(held_up.is_none() || held_up == Some(second.wait()?));
    Ok(())
}

#[test]
fn settings_change_during_training() -> Result<()> {
    let context = context();
    let group = ParameterGroup {
        pattern: "*.bias".into(),
        frozen: true,
        learning_rate: 0.5,
        momentum: Some(0.25),
        ..Default::default()
    };
    let options = TrainerOptions { groups: vec![group], momentum: 0.5, ..Default::default() };
    let mut trainer = trainer(&context, &options);
    assert_eq!(trainer.get_option(Some(0), Setting::Momentum)?, 0.25);
    trainer.train_epoch(&mut loader(&context, 8))?;
    assert_eq!(bias(&trainer.unwrap()?)?, [0.0, 1.0, 2.0]);
    trainer.set_option(Some(0), Setting::Frozen, 0.0)?;
    trainer.set_learning_rate(None, 0.01)?;
    assert_eq!(trainer.get_learning_rate(None)?, 0.01);
    assert_eq!(trainer.get_learning_rate(Some(0))?, 0.5);
    trainer.train_epoch(&mut loader(&context, 8))?;
    assert_ne!(bias(&trainer.unwrap()?)?, [0.0, 1.0, 2.0]);
    let error = trainer.set_option(None, Setting::Beta1, 0.5).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_plateau_lowers_the_rate() -> Result<()> {
    let options = TrainerOptions {
        schedule: Schedule::Plateau,
        schedule_patience: 0,
        learning_rate: 1.0,
        ..Default::default()
    };
    let mut trainer = trainer(&context(), &options);
    trainer.report_metric(1.0)?;
    trainer.report_metric(1.0)?;
    assert_close(trainer.get_learning_rate(None)?, 0.1);
    assert_eq!(trainer.report_metric(f64::NAN).unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn options_come_back() -> Result<()> {
    let defaults = TrainerOptions::default();
    assert_eq!((defaults.loss, defaults.optimizer), (Loss::CrossEntropy, Optimizer::Sgd));
    assert_eq!((defaults.learning_rate, defaults.beta1, defaults.layer_cuts), (0.1, None, None));
    assert_eq!(defaults.layer_schedule, LayerSchedule::OneFOneB);
    assert!(defaults.groups.is_empty() && defaults.group.is_none() && !defaults.nesterov);
    let group = |pattern: &str, rate| ParameterGroup {
        pattern: pattern.into(),
        weight_decay: rate,
        ..Default::default()
    };
    let options = TrainerOptions {
        optimizer: Optimizer::Adam,
        reduction: Reduction::Sum,
        precision: Precision::F32,
        schedule: Schedule::MultiStep,
        schedule_milestones: vec![10, 20],
        groups: vec![group("*.weight", 0.5), group("*.bias", 0.25)],
        skip_decay_one_axis: true,
        beta2: Some(0.99),
        ..Default::default()
    };
    let used = trainer(&context(), &options).get_options()?;
    assert_eq!(used.schedule_milestones, [10, 20]);
    assert_eq!(used.groups[1].pattern, "*.bias");
    assert_eq!(used.groups.iter().map(|g| g.weight_decay).collect::<Vec<_>>(), [0.5, 0.25]);
    assert_eq!((used.beta1, used.beta2, used.eps), (Some(0.9), Some(0.99), Some(1e-8)));
    assert_eq!((used.reduction, used.skip_decay_one_axis), (Reduction::Sum, true));
    // Another model can be attached with them.
    trainer(&context(), &used);
    Ok(())
}

#[test]
fn values_as_targets() -> Result<()> {
    let context = context();
    let targets = Targets::Values(&[0.0, 1.0, 5.0]);
    let dataset = Dataset::create_arrays(&context, &[0.0; 4], &[4], targets)?;
    let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 1, ..Default::default() })?;
    let options = TrainerOptions { loss: Loss::MeanSquaredError, ..Default::default() };
    let metrics = trainer(&context, &options).evaluate(&mut loader)?;
    assert_close(metrics.loss, 3.0); // (2 - 5)^2 / 3
    Ok(())
}

#[test]
fn a_step_that_is_not_finite_is_skipped() -> Result<()> {
    let context = context();
    let inputs = Tensor::new(&context, CPU, &[1, 4], &[f32::INFINITY, 0.0, 0.0, 0.0])?;
    let batch = Batch::new(&inputs, Some(&Tensor::new(&context, CPU, &[1], &[0_i32])?))?;
    let options = TrainerOptions { skip_not_finite: true, ..Default::default() };
    let mut trainer = trainer(&context, &options);
    let step = trainer.step(&batch)?;
    assert_eq!((step.status, step.step), (Status::StepSkipped, 1));
    assert_eq!(bias(&trainer.unwrap()?)?, [0.0, 1.0, 2.0]);
    Ok(())
}

#[test]
fn a_training_state_resumes_bit_for_bit() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    let options = TrainerOptions { momentum: 0.9, ..Default::default() };
    let shuffled = LoaderOptions { batch: 8, shuffle: true, ..Default::default() };
    let data = dataset(&context);
    let mut loader = Loader::new(&data, &shuffled)?;
    let mut first = trainer(&context, &options);
    first.train_batches(&mut loader, 3)?;
    let state = folder.file("state.safetensors");
    first.save(&state)?;
    first.train_batches(&mut loader, 4)?;

    let mut second = trainer(&context, &options);
    let position = second.load(&state)?;
    assert_eq!((position.epoch, position.batch), (0, 3));
    let mut loader = Loader::new(&data, &shuffled)?;
    loader.seek(&position)?;
    second.train_batches(&mut loader, 4)?;
    assert_eq!(bias(&first.unwrap()?)?, bias(&second.unwrap()?)?);
    let other = TrainerOptions { momentum: 0.5, ..options };
    let error = trainer(&context, &other).load(&state).unwrap_err();
    assert_eq!(error.status(), Status::Mismatch);
    Ok(())
}

#[test]
fn a_training_state_resumes_in_any_order() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 8);
    trainer.train_batches(&mut loader, 1)?;
    let state = folder.file("state.safetensors");
    trainer.save(&state)?;

    let position = trainer.load(&state)?;
    let shuffled = LoaderOptions { batch: 8, shuffle: true, ..Default::default() };
    let mut loader = Loader::new(&dataset(&context), &shuffled)?;
    loader.seek(&position)?;
    let batch = loader.next_batch()?.unwrap();
    let refused = trainer.step(&batch).unwrap_err();
    assert_eq!(refused.status(), Status::InvalidArgument);
    assert!(refused.message().contains("order"), "{refused}");
    trainer.load_in_any_order(&state)?;
    assert_eq!(trainer.step(&batch)?.step, 2);
    let missing = trainer.load_in_any_order(folder.file("nothing")).unwrap_err();
    assert_eq!(missing.status(), Status::NotFound);
    Ok(())
}

#[test]
fn several_states_in_the_background() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    let options = TrainerOptions { average_decay: 0.5, ..Default::default() };
    let mut trainer = trainer(&context, &options);
    let mut loader = loader(&context, 8);
    let save = SaveOptions { keep: 2, in_background: true };
    let path = folder.file("state.safetensors");
    for _ in 0..3 {
        trainer.train_batches(&mut loader, 1)?;
        trainer.save_with(&path, &save)?;
    }
    trainer.wait_save()?;
    let newest = troika::file_newest(&path)?;
    assert!(newest.ends_with("state-000000000003.safetensors"), "{newest:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let error = troika::file_newest(folder.file("none")).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);

    let average = folder.file("average.safetensors");
    trainer.save_average(&average)?;
    let average = bias(&Model::open(&context, &average)?)?;
    assert_ne!(average, bias(&trainer.unwrap()?)?);
    let nowhere = trainer.save(folder.file("no/such/folder")).unwrap_err();
    assert_eq!(nowhere.status(), Status::Io);
    Ok(())
}

#[test]
fn traces() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    let mut without = trainer(&context, &Default::default());
    without.train_epoch(&mut loader(&context, 8))?;
    assert_eq!(without.trace().unwrap_err().status(), Status::NotInitialized);
    let mut traced =
        trainer(&context, &TrainerOptions { collect_trace: true, ..Default::default() });
    traced.train_epoch(&mut loader(&context, 8))?;
    assert!(traced.trace()?.lines().all(|line| line.starts_with("0 ")));
    let path = folder.file("trace.json");
    traced.save_trace(&path)?;
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"traceEvents\""));
    Ok(())
}
