//! Memory: everything that is created is freed, and closures are dropped once.

use super::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use troika::{Arrays, Batch, Gradients, Source, Tensor};

/// One object of each kind and each closure, and calls that fail.
fn one_of_each(held: &Arc<()>) -> Result<()> {
    let keep = || held.clone();
    let kept = keep();
    let context = Context::with_log(&Default::default(), move |_, _, _| drop(kept.clone()))?;
    let kept = keep();
    let source = Source { dims: vec![4], n: 32, classes: 3, ..Default::default() };
    let dataset = Dataset::create_callback(&context, &source, move |request| {
        drop(kept.clone());
        request.inputs.fill(1.0);
        request.labels.fill(1);
        Ok(request.n)
    })?;
    let owned = Dataset::create_from(&context, Arrays::new(vec![0.5_f32; 64], &[4]))?;
    let parts = dataset.split(&[8, 8], true, 0)?;
    let mut loader = Loader::new(&parts[0], &LoaderOptions { batch: 4, ..Default::default() })?;
    let mut net = model(&context);
    let mut trainer = net.attach(&[CPU], &Default::default())?;
    let kept = keep();
    trainer.set_progress(move |_| {
        drop(kept.clone());
        ControlFlow::Continue(())
    })?;
    trainer.train_epoch(&mut loader)?;
    let batch = loader.next_batch()?.unwrap().copy()?;
    let kept = keep();
    trainer.step_async_with(&batch, move |result| drop((kept, result)))?.wait()?;
    let tensor = Tensor::new(&context, CPU, &[1, 4], &[0.0_f32; 4])?;
    let managed = tensor.to(CPU)?.to_dlpack()?;
    let own = Batch::new(&Tensor::from_dlpack(&context, managed)?, None)?;
    assert!(trainer.step(&own).is_err());
    assert!(Model::open(&context, "no/such/file").is_err());
    let predicted = trainer.unwrap()?.try_clone()?.predict(CPU, &tensor)?;
    let gradients = Gradients::new(&context)?;
    let mut watched = Tensor::new(&context, CPU, &[2], &[1.0_f32, 2.0])?;
    gradients.watch([&mut watched])?;
    let number = watched.reshape(&[2, 1])?.exp()?.sum(None, false)?;
    let computed = gradients.of(&number, &[&watched])?;
    assert!(watched.add(&tensor.scale(1.0, 0.0)?.slice(1, 0..3)?).is_err());
    drop((context, owned, dataset, own, predicted, computed));
    Ok(())
}

#[test]
fn closures_are_dropped_once() -> Result<()> {
    let held = Arc::new(());
    one_of_each(&held)?;
    assert_eq!(Arc::strong_count(&held), 1);
    Ok(())
}

#[test]
#[ignore = "measures the memory of the process, so it runs alone"]
fn memory_stays_flat() -> Result<()> {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<i64>().unwrap()
    };
    let held = Arc::new(());
    let round = |rounds| (0..rounds).try_for_each(|_| one_of_each(&held));
    round(100)?;
    let before = resident();
    round(300)?;
    let grown = resident() - before;
    assert!(grown < 500, "grew by {grown} kB in 300 rounds");
    Ok(())
}
