//! Groups of processes: the test starts itself once more as the second process.

use super::*;
use std::process::Command;
use troika::{Dtype, Group, GroupOptions, Status, Tensor};

const RENDEZVOUS: &str = "TROIKA_RUST_TEST_RENDEZVOUS";

fn join(context: &Context, rank: i32, rendezvous: &str) -> Result<Group> {
    let options = GroupOptions {
        rank: Some(rank),
        processes: Some(2),
        rendezvous: Some(rendezvous.into()),
        connect_timeout_ms: 30_000,
        deadline_ms: 30_000,
        ..Default::default()
    };
    Group::new(context, &options)
}

/// The calls that both processes make.
fn work(rank: usize, rendezvous: &str) -> Result<()> {
    let context = context();
    let group = join(&context, rank as i32, rendezvous)?;
    let info = group.describe()?;
    assert_eq!((info.rank, info.processes), (rank as i32, 2));
    group.barrier()?;

    let own = |value: f32| Tensor::new(&context, CPU, &[2], &[value, 2.0 * value]);
    let mut tensor = own(rank as f32 + 1.0)?;
    group.all_reduce(&mut tensor)?;
    assert_eq!(tensor.to_vec::<f32>()?, [3.0, 6.0]);
    let mut tensor = own(rank as f32)?;
    group.broadcast(&mut tensor, 1)?;
    assert_eq!(tensor.to_vec::<f32>()?, [1.0, 2.0]);
    let all = group.all_gather(&own(rank as f32)?)?;
    assert_eq!(all.to_vec::<f32>()?, [0.0, 0.0, 1.0, 2.0]);
    let rows = group.reduce_scatter(&own(1.0)?)?;
    assert_eq!(rows.to_vec::<f32>()?, [[2.0], [4.0]][rank]);
    if rank == 0 {
        group.send(&own(5.0)?, 1)?;
    } else {
        let mut received = Tensor::zeros(&context, CPU, Dtype::F32, &[2])?;
        group.receive(&mut received, 0)?;
        assert_eq!(received.to_vec::<f32>()?, [5.0, 10.0]);
    }

    // Both processes train one model, each on its share of the batches.
    let options = TrainerOptions { group: Some(group.clone()), ..Default::default() };
    let mut trainer = trainer(&context, &options);
    drop(options);
    let mut loader = loader(&context, 8);
    assert_eq!(trainer.train_epoch(&mut loader)?.samples, 32);
    assert_eq!(trainer.get_options()?.group, Some(group.clone()));
    assert_eq!(trainer.describe()?.mesh.data, 2);
    trainer.check_replicas()?;
    let divided = LoaderOptions { batch: 9, group: Some(group), ..Default::default() };
    let mut loader = Loader::new(&dataset(&context), &divided)?;
    assert_eq!(loader.next_batch()?.unwrap().describe()?.n, [5, 4][rank]);
    Ok(())
}

#[test]
fn two_processes() {
    if let Ok(rendezvous) = std::env::var(RENDEZVOUS) {
        work(1, &rendezvous).unwrap();
        return;
    }
    let folder = Folder::new();
    let rendezvous = format!("file://{}", folder.file("rendezvous").display());
    let mut second = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "groups::two_processes"])
        .env(RENDEZVOUS, &rendezvous)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    work(0, &rendezvous).unwrap();
    assert!(second.wait().unwrap().success());
}

#[test]
fn a_group_of_one_and_one_that_nobody_joins() -> Result<()> {
    let context = context();
    let alone = Group::new(
        &context,
        &GroupOptions { rank: Some(0), processes: Some(1), ..Default::default() },
    )?;
    assert_eq!(alone.describe()?.processes, 1);
    alone.barrier()?;
    assert_ne!(
        alone,
        Group::new(
            &context,
            &GroupOptions { rank: Some(0), processes: Some(1), ..Default::default() }
        )?
    );
    let folder = Folder::new();
    let options = GroupOptions {
        rank: Some(0),
        processes: Some(2),
        rendezvous: Some(format!("file://{}", folder.file("rendezvous").display())),
        connect_timeout_ms: 100,
        ..Default::default()
    };
    assert_eq!(Group::new(&context, &options).unwrap_err().status(), Status::Comm);
    Ok(())
}
