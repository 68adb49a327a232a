//! Closures: log, progress, sources, ends of steps; also those that fail.

use super::*;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use troika::{ContextOptions, LogLevel, ReadRequest, Source, SourceError, Status};

/// The payload of a panic in these tests. It is raised without a message on the screen.
#[derive(Debug, PartialEq)]
struct Thrown(u32);

fn throw(number: u32) -> ! {
    resume_unwind(Box::new(Thrown(number)))
}

/// Runs a call that must resume a panic, and returns its payload.
fn thrown_by<T>(call: impl FnOnce() -> T) -> Thrown {
    let payload = catch_unwind(AssertUnwindSafe(call)).err().expect("the call resumes a panic");
    *payload.downcast().expect("the payload is the closure's own")
}

#[derive(Debug)]
struct Unreadable(i64);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sample {}:\nunreadable", self.0)
    }
}

impl std::error::Error for Unreadable {}

/// A dataset of 32 samples with 4 numbers and 3 classes; `check` may refuse an index.
fn source(
    context: &Context,
    check: impl Fn(i64) -> std::result::Result<(), SourceError> + Send + Sync + 'static,
) -> Dataset {
    let source = Source { dims: vec![4], n: 32, classes: 3, ..Default::default() };
    Dataset::create_callback(context, &source, move |request: &mut ReadRequest<'_>| {
        for (place, &index) in request.indices.iter().enumerate() {
            check(index)?;
            request.inputs[4 * place..][..4].fill(index as f32);
            request.labels[place] = (index % 3) as i32;
        }
        Ok(request.n)
    })
    .unwrap()
}

/// With and without the loader's own thread.
fn loaders(dataset: &Dataset) -> [Loader; 2] {
    [0, 2].map(|prefetch| {
        let options = LoaderOptions { batch: 8, prefetch, ..Default::default() };
        Loader::new(dataset, &options).unwrap()
    })
}

#[test]
fn the_log() -> Result<()> {
    let (sender, lines) = channel();
    let options = ContextOptions { log_level: Some(LogLevel::Debug), ..Default::default() };
    let context = Context::with_log(&options, move |level, topic, line| {
        sender.send((level, topic.to_string(), line.to_string())).unwrap();
    })?;
    trainer(&context, &Default::default()).train_epoch(&mut loader(&context, 8))?;
    assert!(context.describe_backends()?.contains("cpu"));
    drop(context);
    let lines: Vec<_> = lines.iter().collect(); // ends when the closure is dropped
    assert!(!lines.is_empty());
    for (level, topic, line) in lines {
        assert!(level != LogLevel::Error, "{line}");
        assert!(["backend", "comm", "plan", "memory", "train"].contains(&topic.as_str()));
        assert!(!line.is_empty() && !line.contains('\n'));
    }
    Ok(())
}

#[test]
fn a_log_that_panics() -> Result<()> {
    let options = ContextOptions { log_level: Some(LogLevel::Debug), ..Default::default() };
    let mut lines = 0;
    let context = Context::with_log(&options, move |_, _, _| {
        lines += 1;
        if lines == 1 {
            throw(1);
        }
    });
    let work = || trainer(context.as_ref().unwrap(), &Default::default()).describe();
    assert_eq!(thrown_by(work), Thrown(1));
    assert_eq!(work()?.step, 0);
    let refused = ContextOptions { cpu_threads: Some(-1), ..Default::default() };
    let held = Arc::new(());
    let kept = held.clone();
    let error = Context::with_log(&refused, move |_, _, _| drop(kept.clone())).unwrap_err();
    assert!(error.message().contains("cpu_threads"), "{error}");
    assert_eq!(Arc::strong_count(&held), 1);
    Ok(())
}

#[test]
fn progress() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 8);
    let (sender, seen) = channel();
    trainer.set_progress(move |progress| {
        let mean = progress.batch_loss;
        assert!(
            mean.is_finite() && progress.learning_rate == if progress.training { 0.1 } else { 0.0 }
        );
        sender.send((progress.batch, progress.samples, progress.training)).unwrap();
        ControlFlow::Continue(())
    })?;
    trainer.train_epoch(&mut loader)?;
    trainer.evaluate(&mut loader)?;
    trainer.clear_progress()?;
    trainer.train_epoch(&mut loader)?;
    let seen: Vec<_> = seen.iter().collect(); // ends, because the closure was dropped
    assert_eq!(seen[..4], [(1, 8, true), (2, 16, true), (3, 24, true), (4, 32, true)]);
    assert_eq!(seen[4..], [(1, 8, false), (2, 16, false), (3, 24, false), (4, 32, false)]);
    Ok(())
}

#[test]
fn progress_that_breaks_stops() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 8);
    trainer.set_progress(|progress| match progress.batch {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })?;
    let metrics = trainer.train_epoch(&mut loader)?;
    assert_eq!((metrics.status, metrics.samples), (Status::Stopped, 16));
    assert_eq!(loader.tell()?.batch, 2);
    let mut output = [0.0; 32 * 3];
    let predicted = trainer.predict_loader(&mut loader, &mut output)?;
    assert_eq!((predicted.status, predicted.samples), (Status::Stopped, 16));
    // The closure counts the batches of the epoch, so the rest of it has another number.
    assert_eq!(trainer.train_batches(&mut loader, 1)?.samples, 8);
    Ok(())
}

#[test]
fn progress_that_panics() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 8);
    trainer.set_progress(|progress| throw(progress.batch as u32))?;
    assert_eq!(thrown_by(|| trainer.train_epoch(&mut loader)), Thrown(1));
    assert_eq!(loader.tell()?.batch, 1);
    assert_eq!(thrown_by(|| trainer.evaluate(&mut loader)), Thrown(1));
    trainer.clear_progress()?;
    assert_eq!(trainer.train_epoch(&mut loader)?.samples, 24);
    assert_eq!(trainer.describe()?.step, 4);
    Ok(())
}

#[test]
fn a_source_that_panics() -> Result<()> {
    let context = context();
    let fails = Arc::new(Mutex::new(true));
    let in_closure = fails.clone();
    let dataset = source(&context, move |index| match index {
        20 if *in_closure.lock().unwrap() => throw(index as u32),
        _ => Ok(()),
    });
    // Also through parts and unions of the dataset.
    let part = dataset.subset(&(0..32).collect::<Vec<_>>())?;
    let union = Dataset::concat(&[&part.split(&[32], false, 0)?[0]])?;
    let all = loaders(&dataset).into_iter().chain(loaders(&union));
    for mut loader in all {
        *fails.lock().unwrap() = true;
        let mut trainer = trainer(&context, &Default::default());
        assert_eq!(thrown_by(|| trainer.train_epoch(&mut loader)), Thrown(20));
        assert_eq!((trainer.describe()?.step, loader.tell()?.batch), (2, 2));
        assert_eq!(thrown_by(|| loader.next_batch().map(drop)), Thrown(20));
        *fails.lock().unwrap() = false;
        assert_eq!(trainer.train_epoch(&mut loader)?.samples, 16);
    }
    Ok(())
}

#[test]
fn a_source_with_an_error_of_its_own() -> Result<()> {
    let context = context();
    let dataset = source(&context, |index| match index {
        20 => Err(Unreadable(index).into()),
        _ => Ok(()),
    });
    for mut loader in loaders(&dataset) {
        let mut trainer = trainer(&context, &Default::default());
        let error = trainer.train_epoch(&mut loader).unwrap_err();
        assert_eq!((error.status(), error.message()), (Status::Callback, "sample 20: unreadable"));
        let own = std::error::Error::source(&error).unwrap().downcast_ref::<Unreadable>();
        assert_eq!(own.unwrap().0, 20);
        for error in [
            trainer.evaluate(&mut loader).unwrap_err(),
            trainer.predict_loader(&mut loader, &mut [0.0; 96]).unwrap_err(),
        ] {
            assert!(std::error::Error::source(&error).unwrap().is::<Unreadable>());
        }
    }
    Ok(())
}

#[test]
fn messages_of_sources() -> Result<()> {
    let context = context();
    let long = "too long, ".repeat(200);
    let texts = ["of text alone", "", "\u{7}bell", &long];
    for text in texts.map(String::from) {
        let expected = match text.as_str() {
            "" => "the source failed without a message".into(),
            text => text.replace('\u{7}', " ").chars().take(1019).collect::<String>(),
        };
        let dataset = source(&context, move |_| Err(SourceError::new(text.clone())));
        let [mut loader, _] = loaders(&dataset);
        let error = loader.next_batch().unwrap_err();
        assert_eq!(error.message(), expected);
        assert!(std::error::Error::source(&error).is_some());
    }
    Ok(())
}

#[test]
fn a_source_that_writes_too_much_or_a_wrong_label() -> Result<()> {
    let context = context();
    let source = Source { dims: vec![1], n: 4, classes: 2, ..Default::default() };
    let options = LoaderOptions { batch: 4, ..Default::default() };
    let too_many = Dataset::create_callback(&context, &source, |request| Ok(request.n + 1))?;
    let error = Loader::new(&too_many, &options)?.next_batch().unwrap_err();
    assert_eq!(error.status(), Status::Callback);
    let wrong = Dataset::create_callback(&context, &source, |request| {
        request.labels.fill(2);
        Ok(request.n)
    })?;
    let error = Loader::new(&wrong, &options)?.next_batch().unwrap_err();
    assert!(error.message().contains("label 2"), "{error}");
    assert!(std::error::Error::source(&error).is_none());
    let refused = Source { n: -2, ..source };
    let held = Arc::new(());
    let kept = held.clone();
    let created = Dataset::create_callback(&context, &refused, move |request| {
        drop(kept.clone());
        Ok(request.n)
    });
    assert_eq!(created.unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Arc::strong_count(&held), 1);
    Ok(())
}

#[test]
fn a_source_that_stops() -> Result<()> {
    let context = context();
    let dataset = source(&context, |index| match index {
        20 => Err(SourceError::Stop),
        _ => Ok(()),
    });
    for mut loader in loaders(&dataset) {
        let mut trainer = trainer(&context, &Default::default());
        let metrics = trainer.train_epoch(&mut loader)?;
        assert_eq!((metrics.status, metrics.samples), (Status::Stopped, 16));
        assert!(loader.next_batch()?.is_none() && loader.was_stopped());
        assert_eq!(loader.tell()?.batch, 2);
    }
    Ok(())
}

#[test]
fn the_end_of_a_step_that_panics() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 8);
    let batch = loader.next_batch()?.unwrap();
    let step = trainer.step_async_with(&batch, |_| throw(4))?;
    assert_eq!(thrown_by(|| step.wait()), Thrown(4));
    assert_eq!(step.wait()?.step, 1);
    assert_eq!(trainer.step(&batch)?.step, 2);
    Ok(())
}

#[test]
fn a_closure_that_panics_when_it_is_dropped() -> Result<()> {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                throw(5);
            }
        }
    }
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let bomb = Bomb;
    trainer.set_progress(move |_| {
        let _ = &bomb;
        ControlFlow::Continue(())
    })?;
    assert_eq!(thrown_by(|| trainer.clear_progress()), Thrown(5));
    let bomb = Bomb;
    trainer.set_progress(move |_| {
        let _ = &bomb;
        ControlFlow::Continue(())
    })?;
    assert_eq!(thrown_by(|| drop(trainer)), Thrown(5));
    Ok(())
}
