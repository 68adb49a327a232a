//! Threads, as docs/threads.md says, and cancellation from another thread.

use super::*;
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use troika::dlpack::ManagedTensor;
use troika::{Batch, Error, Gradients, Group, Pending, Status, StopHandle, Tensor};

/// Types that may be sent, and types that may be shared, too.
const _: fn() = || {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Context>();
    is_shared::<Tensor>();
    is_shared::<Dataset>();
    is_shared::<Model>();
    is_shared::<Batch<'static>>();
    is_shared::<Pending>();
    is_shared::<Gradients>();
    is_shared::<Group>();
    is_shared::<StopHandle>();
    is_shared::<Error>();
    is_shared::<TrainerOptions>();
    is_send::<Loader>();
    is_send::<Trainer>();
    is_send::<ManagedTensor>();
};

/// Types that take one call at a time are not `Sync`: if one were, the compiler could not choose
/// between the two implementations.
const _: fn() = || {
    trait Choice<A> {
        fn choose() {}
    }
    struct Shared;
    impl<T> Choice<()> for T {}
    impl<T: Sync> Choice<Shared> for T {}
    <Loader as Choice<_>>::choose();
    <Trainer as Choice<_>>::choose();
};

#[test]
fn one_model_predicts_on_many_threads() -> Result<()> {
    let context = context();
    let net = model(&context);
    thread::scope(|scope| {
        let predict = |_| {
            scope.spawn(|| {
                let mut output = [0.0; 3];
                for _ in 0..50 {
                    net.predict_into(CPU, &[0.0_f32; 4], None, &mut output).unwrap();
                    assert_eq!(output, [0.0, 1.0, 2.0]);
                    assert_eq!(net.describe().unwrap().parameters, 15);
                }
            })
        };
        let threads: Vec<_> = (0..4).map(predict).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    Ok(())
}

#[test]
fn newer_values_arrive_while_others_predict() -> Result<()> {
    let net = Arc::new(model(&context()));
    let mut clone = net.try_clone()?;
    let server = net.clone();
    let thread = thread::spawn(move || loop {
        let mut output = [0.0; 3];
        server.predict_into(CPU, &[0.0_f32; 4], None, &mut output).unwrap();
        match output[0] as i32 {
            0 => assert_eq!(output, [0.0, 1.0, 2.0]),
            3 => break assert_eq!(output, [3.0; 3]),
            other => panic!("{other}"),
        }
    });
    clone.set_parameter("fc.bias", &[3.0_f32; 3])?;
    thread.join().unwrap();
    Ok(())
}

#[test]
fn a_trainer_and_its_loader_move_to_another_thread() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 8);
    let thread = thread::spawn(move || trainer.train_epoch(&mut loader));
    drop(context);
    assert_eq!(thread.join().unwrap()?.samples, 32);
    Ok(())
}

#[test]
fn several_threads_read_a_batch() -> Result<()> {
    let mut loader = loader(&context(), 8);
    let batch = loader.next_batch()?.unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(batch.labels().unwrap()[..3], [0, 1, 2]));
        scope.spawn(|| assert_eq!(batch.inputs().unwrap().len(), 32));
    });
    Ok(())
}

#[test]
fn a_stop_in_the_middle_of_an_epoch() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 4);
    let stop = trainer.stop_handle();
    let (at_batch, batches) = channel();
    let (go_on, asked) = channel();
    trainer.set_progress(move |progress| {
        if progress.batch == 3 {
            at_batch.send(()).unwrap();
            asked.recv().unwrap();
        }
        ControlFlow::Continue(())
    })?;
    let thread = thread::spawn(move || {
        batches.recv().unwrap();
        stop.clone().request_stop().unwrap();
        go_on.send(()).unwrap();
    });
    let metrics = trainer.train_epoch(&mut loader)?;
    thread.join().unwrap();
    assert_eq!((metrics.status, metrics.samples), (Status::Stopped, 12));
    assert_eq!(loader.tell()?.batch, 3);
    trainer.clear_progress()?;
    let rest = trainer.train_epoch(&mut loader)?;
    assert_eq!((rest.status, rest.samples), (Status::Ok, 20));
    Ok(())
}

#[test]
fn a_stop_before_a_call_can_be_taken_back() -> Result<()> {
    let context = context();
    let mut trainer = trainer(&context, &Default::default());
    let mut loader = loader(&context, 16);
    trainer.request_stop()?;
    let batch = loader.next_batch()?.unwrap();
    assert_eq!(trainer.step(&batch)?.status, Status::Stopped);
    trainer.stop_handle().request_stop()?;
    trainer.stop_handle().clear_stop()?;
    assert_eq!(trainer.step(&batch)?.status, Status::Ok);
    trainer.request_stop()?;
    trainer.clear_stop()?;
    assert_eq!(trainer.forward(&batch, &Default::default())?.status, Status::Ok);
    trainer.request_stop()?;
    let (output, result) = trainer.forward_with_output(&batch, &Default::default())?;
    assert!(output.is_none() && result.status == Status::Stopped);
    trainer.request_stop()?;
    assert_eq!(trainer.explain(31)?, None);
    Ok(())
}

#[test]
fn a_trainer_that_computes_makes_others_busy() -> Result<()> {
    let context = context();
    let mut net = model(&context);
    let mut trainer = net.attach(&[CPU], &Default::default())?;
    let (sender, receiver) = channel();
    let mut loader = loader(&context, 8);
    let batch = loader.next_batch()?.unwrap();
    let (go_on, wait) = channel::<()>();
    let first = trainer.step_async_with(&batch, move |_| {
        sender.send(()).unwrap();
        wait.recv().unwrap();
    })?;
    let second = trainer.step_async(&batch)?;
    receiver.recv().unwrap();
    assert_eq!(trainer.step(&batch).unwrap_err().status(), Status::Busy);
    go_on.send(()).unwrap();
    first.wait()?;
    second.wait()?;
    assert_eq!(trainer.step(&batch)?.step, 3);
    Ok(())
}
