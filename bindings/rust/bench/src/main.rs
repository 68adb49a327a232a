//! Measures the binding: `troika-bench [SAMPLES]`
//!
//! Prints the nanoseconds of a trivial call, and images per second of LeNet with batches of 16 on
//! one device: by `train_epoch`, and by a loop of steps. The best of five runs counts.

use std::time::Instant;
use troika::{Context, Dataset, Device, Loader, LoaderOptions, Model, Result, Trainer};

const RUNS: usize = 5;
const CALLS: u32 = 1_000_000;

/// The shortest time of a few runs, in seconds.
fn best(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let begin = Instant::now();
        run()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn epoch_of_steps(trainer: &mut Trainer, loader: &mut Loader) -> Result<()> {
    while let Some(batch) = loader.next_batch()? {
        trainer.step(&batch)?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let samples = std::env::args().nth(1).and_then(|samples| samples.parse().ok()).unwrap_or(8000);
    let calls = best(|| {
        for _ in 0..CALLS {
            troika::version();
        }
        Ok(())
    })?;
    println!("call ns {:.2}", calls / f64::from(CALLS) * 1e9);

    let context = Context::new(&Default::default())?;
    let dataset = Dataset::create_synthetic(&context, &[1, 28, 28], samples, 10, 0)?;
    let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 16, ..Default::default() })?;
    let mut model = Model::new(&context, "d2l_lenet", &Default::default())?;
    let mut trainer = model.attach(&[Device::cpu(0)], &Default::default())?;
    trainer.train_epoch(&mut loader)?; // compiles the plan

    let epoch = best(|| trainer.train_epoch(&mut loader).map(drop))?;
    println!("epoch images/s {:.0}", samples as f64 / epoch);
    let steps = best(|| epoch_of_steps(&mut trainer, &mut loader))?;
    println!("steps images/s {:.0}", samples as f64 / steps);
    Ok(())
}
