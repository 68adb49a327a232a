//! Datasets, loaders and batches.

use super::*;
use std::sync::Arc;
use troika::{
    Array, Arrays, Batch, DatasetOptions, Dtype, LoaderPosition, Source, SourceError, Status,
    Targets, Tensor,
};

/// The inputs and labels of an epoch.
fn read(dataset: &Dataset, batch: i64) -> Result<(Vec<f32>, Vec<i32>)> {
    let mut loader = Loader::new(dataset, &LoaderOptions { batch, ..Default::default() })?;
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    while let Some(batch) = loader.next_batch()? {
        inputs.extend(batch.inputs()?);
        labels.extend(batch.labels()?);
    }
    Ok((inputs, labels))
}

/// Two IDX files with images of 1 x 2 pixels.
fn write_idx(folder: &Folder, images: &str, labels: &str) {
    let mut file = vec![0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2];
    file.extend([0, 255, 51, 102, 255, 0]);
    std::fs::write(folder.file(images), file).unwrap();
    std::fs::write(folder.file(labels), [0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 1]).unwrap();
}

#[test]
fn idx_files() -> Result<()> {
    let (context, folder) = (context(), Folder::new());
    write_idx(&folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte");
    let options = DatasetOptions { mean: 0.2, std: 0.5, ..Default::default() };
    let train = Dataset::open_directory(&context, folder.path(), "train", &options)?;
    let info = train.describe()?;
    assert_eq!((info.n, info.dims, info.classes, info.label_size), (3, vec![1, 1, 2], 3, 1));
    let (inputs, labels) = read(&train, 2)?;
    assert_eq!(labels, [2, 0, 1]);
    assert_eq!(inputs[0], -0.2 / 0.5);
    let images = folder.file("train-images-idx3-ubyte");
    let labels = folder.file("train-labels-idx1-ubyte");
    let resized =
        DatasetOptions { resize_height: Some(2), resize_width: Some(4), ..Default::default() };
    let train = Dataset::open_idx(&context, &images, &labels, &resized)?;
    assert_eq!(train.describe()?.dims, [1, 2, 4]);
    let other = Dataset::open_directory(&context, folder.path(), "valid", &resized);
    assert_eq!(other.unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn plain_arrays() -> Result<()> {
    let context = context();
    let inputs = [1.0, 2.0, 3.0, 4.0];
    let labels = Dataset::create_arrays(&context, &inputs, &[2], Targets::Labels(&[1, 0]))?;
    assert_eq!(read(&labels, 2)?, (inputs.to_vec(), vec![1, 0]));
    let values = [0.5, 0.25, 0.125, 1.0, 2.0, 3.0];
    let values = Dataset::create_arrays(&context, &inputs, &[2], Targets::Values(&values))?;
    let mut loader = Loader::new(&values, &LoaderOptions { batch: 1, ..Default::default() })?;
    let batch = loader.next_batch()?.unwrap();
    assert_eq!(batch.values()?, [0.5, 0.25, 0.125]);
    assert_eq!(batch.labels()?, []);
    assert_eq!(batch.describe()?.value_size, 3);
    Ok(())
}

#[test]
fn arrays_of_any_type() -> Result<()> {
    let context = context();
    let arrays = Arrays::new(&[0_u8, 255], &[1]).targets(&[1_i64, 0]).normalize(0.5, 0.5);
    let dataset = Dataset::create_from(&context, arrays)?;
    assert_eq!(read(&dataset, 2)?, (vec![-1.0, 1.0], vec![1, 0]));
    let list = vec![1.0_f64, 2.0, 3.0];
    let dataset = Dataset::create_from(&context, Arrays::new(&list, &[]))?;
    assert_eq!(dataset.describe()?.n, 3);
    assert_eq!(read(&dataset, 3)?, (vec![1.0, 2.0, 3.0], vec![]));
    // A slice of bytes is at any address: here are two numbers of bf16, from byte 1 on.
    let bytes = [0, 0x80, 0x3f, 0x00, 0x40];
    let array = Array::from_bytes(Dtype::Bf16, &bytes[1..])?;
    let dataset = Dataset::create_from(&context, Arrays::new(array, &[2]))?;
    assert_eq!(read(&dataset, 1)?.0, [1.0, 2.0]);
    assert_eq!(
        Array::from_bytes(Dtype::F64, &bytes).unwrap_err().status(),
        Status::InvalidArgument
    );
    Ok(())
}

#[test]
fn arrays_that_the_dataset_owns_are_not_copied() -> Result<()> {
    let context = context();
    let pixels: Arc<[f32]> = Arc::from([1.0_f32, 2.0]);
    let arrays = Arrays::new(pixels.clone(), &[1]).targets(vec![1_i32, -5]).ignore_index(-5);
    let dataset = Dataset::create_from(&context, arrays)?;
    assert_eq!(Arc::strong_count(&pixels), 2);
    assert_eq!(read(&dataset, 2)?, (vec![1.0, 2.0], vec![1, -5]));
    drop(dataset);
    assert_eq!(Arc::strong_count(&pixels), 1);
    // A call that fails drops them, too.
    let refused = Arrays::new(pixels.clone(), &[1]).targets(vec![1_i32, -5]);
    assert!(Dataset::create_from(&context, refused).is_err());
    assert_eq!(Arc::strong_count(&pixels), 1);
    Ok(())
}

#[test]
fn tokens() -> Result<()> {
    let context = context();
    let options = LoaderOptions { batch: 2, ..Default::default() };
    let text = Dataset::create_token_stream(&context, b"abcde", 2)?;
    let info = text.describe()?;
    assert_eq!((info.n, info.dtype, info.label_size), (2, Dtype::I32, 2));
    let mut loader = Loader::new(&text, &options)?;
    let batch = loader.next_batch()?.unwrap();
    assert_eq!(batch.tokens()?, [97, 98, 99, 100]);
    assert_eq!(batch.labels()?, [98, 99, 100, 101]);
    assert_eq!(batch.inputs()?, []);

    let sequences = [3_i32, 1, 4, 1];
    let dataset = Dataset::create_tokens(&context, &sequences, 2, &[1, -1], Some(-1))?;
    let info = dataset.describe()?;
    assert_eq!((info.n, info.words, info.classes, info.label_size), (2, 5, 2, 1));
    let arrays = Arrays::new(&sequences, &[2]).tokens();
    let dataset = Dataset::create_from(&context, arrays)?;
    assert_eq!((dataset.describe()?.words, dataset.describe()?.dims), (5, vec![2]));
    Ok(())
}

#[test]
fn weights_of_samples() -> Result<()> {
    let context = context();
    let all = Dataset::create_synthetic(&context, &[2], 3, 3, 0)?;
    let weighted = all.weigh(&[1.0, 0.0, 2.5])?;
    let options = LoaderOptions { batch: 3, ..Default::default() };
    let mut loader = Loader::new(&weighted, &options)?;
    assert_eq!(loader.next_batch()?.unwrap().weights()?, [1.0, 0.0, 2.5]);
    assert_eq!(all.weigh(&[1.0]).unwrap_err().status(), Status::InvalidArgument);
    let inputs = Tensor::new(&context, CPU, &[2, 4], &[1.0_f32; 8])?;
    let targets = Tensor::new(&context, CPU, &[2], &[2_i32, 0])?;
    let weights = Tensor::new(&context, CPU, &[2], &[0.5_f32, 2.0])?;
    assert_eq!(Batch::create_weighted(&inputs, Some(&targets), &weights)?.weights()?, [0.5, 2.0]);
    assert_eq!(Batch::new(&inputs, Some(&targets))?.weights()?, []);
    let wrong = Batch::create_weighted(&inputs, Some(&targets), &inputs);
    assert_eq!(wrong.unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn parts_and_unions() -> Result<()> {
    let context = context();
    let labels = |dataset: &Dataset| read(dataset, 4).map(|read| read.1);
    let all = Dataset::create_synthetic(&context, &[2], 6, 6, 0)?;
    assert_eq!(labels(&all)?, [0, 1, 2, 3, 4, 5]);
    let some = all.subset(&[5, 0, 5])?;
    assert_eq!(labels(&some)?, [5, 0, 5]);
    let parts = all.split(&[2, 3], false, 0)?;
    assert_eq!((labels(&parts[0])?, labels(&parts[1])?), (vec![0, 1], vec![2, 3, 4]));
    let shuffled = all.split(&[6], true, 3)?;
    let mut drawn = labels(&shuffled[0])?;
    assert_ne!(drawn, [0, 1, 2, 3, 4, 5]);
    drawn.sort_unstable();
    assert_eq!(drawn, [0, 1, 2, 3, 4, 5]);
    let union = Dataset::concat(&[&some, &parts[0]])?;
    assert_eq!(labels(&union)?, [5, 0, 5, 0, 1]);
    assert_eq!(all.subset(&[6]).unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_loader_goes_through_epochs() -> Result<()> {
    let mut loader = loader(&context(), 20);
    assert_eq!(loader.next_batch()?.unwrap().describe()?.dims, [20, 4]);
    assert_eq!(loader.tell()?.batch, 1);
    assert_eq!(loader.next_batch()?.unwrap().describe()?.n, 12);
    assert!(loader.next_batch()?.is_none() && !loader.was_stopped());
    assert_eq!(loader.tell()?, LoaderPosition { epoch: 1, batch: 0, batches: 2 });
    loader.seek(&LoaderPosition { batch: 1, ..Default::default() })?;
    assert_eq!(loader.next_batch()?.unwrap().describe()?.n, 12);
    let beyond = LoaderPosition { batch: 3, ..Default::default() };
    assert_eq!(loader.seek(&beyond).unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_loader_draws_by_weights() -> Result<()> {
    let mut weights = vec![0.0; 32];
    weights[4] = 1.0;
    let options = LoaderOptions { batch: 8, weights, epoch_samples: 3, ..Default::default() };
    let mut loader = Loader::new(&dataset(&context()), &options)?;
    let batch = loader.next_batch()?.unwrap();
    assert_eq!(batch.labels()?, [1, 1, 1]); // sample 4 has the label 4 modulo 3
    Ok(())
}

#[test]
fn a_loader_mirrors_images() -> Result<()> {
    let context = context();
    let images: Vec<f32> = [1.0, 2.0].repeat(64);
    let dataset = Dataset::create_arrays(&context, &images, &[1, 1, 2], Targets::Labels(&[0; 64]))?;
    let options = LoaderOptions { batch: 64, flip: true, ..Default::default() };
    let mut loader = Loader::new(&dataset, &options)?;
    let batch = loader.next_batch()?.unwrap();
    let mirrored = batch.inputs()?.chunks(2).filter(|image| *image == [2.0, 1.0]).count();
    let others = batch.inputs()?.chunks(2).filter(|image| *image == [1.0, 2.0]).count();
    assert!(mirrored > 0 && others > 0 && mirrored + others == 64);
    let options = LoaderOptions { batch: 1, crop: 1, ..Default::default() };
    let error = Loader::new(&dataset, &options).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_copy_outlives_the_loader_s_batch() -> Result<()> {
    let mut loader = loader(&context(), 16);
    let copy = loader.next_batch()?.unwrap().copy()?;
    let next = loader.next_batch()?.unwrap();
    assert_ne!(copy.inputs()?, next.inputs()?);
    // The loader may go on after the last use of a batch, although the batch is still in scope.
    let labels = next.labels()?.to_vec();
    drop(loader);
    assert_eq!((copy.describe()?.n, labels.len()), (16, 16));
    Ok(())
}

#[test]
fn copies_are_the_rest_of_an_epoch() -> Result<()> {
    let context = context();
    let mut loader = loader(&context, 12);
    let first = loader.next_batch()?.unwrap().labels()?.to_vec();
    let mut copies = loader.copies();
    let sizes: Result<Vec<_>> = copies.by_ref().map(|batch| Ok(batch?.describe()?.n)).collect();
    assert_eq!(sizes?, [12, 8]);
    assert!(copies.next().is_none()); // the next epoch is another iterator's
    let batches = loader.copies().collect::<Result<Vec<_>>>()?;
    assert_eq!((batches.len(), loader.tell()?.epoch), (3, 2));
    drop(loader);
    assert_eq!(batches[0].labels()?, first);
    Ok(())
}

#[test]
fn copies_end_after_an_error_and_a_stop() -> Result<()> {
    let context = context();
    for stops in [false, true] {
        let source = Source { dims: vec![1], n: 6, classes: 1, ..Default::default() };
        let dataset = Dataset::create_callback(&context, &source, move |request| {
            match request.indices.contains(&4) {
                true if stops => Err(SourceError::Stop),
                true => Err(SourceError::new("no more")),
                false => Ok(request.n),
            }
        })?;
        let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 2, ..Default::default() })?;
        let found: Vec<_> = loader
            .copies()
            .map(|batch| batch.map_or_else(|e| e.status(), |_| Status::Ok))
            .collect();
        let end: &[Status] = if stops { &[] } else { &[Status::Callback] };
        assert_eq!((&found[..2], &found[2..]), (&[Status::Ok; 2][..], end));
        assert_eq!((loader.was_stopped(), loader.tell()?.batch), (stops, 2));
    }
    Ok(())
}

#[test]
fn a_batch_of_tensors() -> Result<()> {
    let context = context();
    let inputs = Tensor::new(&context, CPU, &[2, 4], &[1.0_f32; 8])?;
    let targets = Tensor::new(&context, CPU, &[2], &[2_i32, 0])?;
    let batch = Batch::new(&inputs, Some(&targets))?;
    drop((inputs, targets));
    assert_eq!((batch.inputs()?.len(), batch.labels()?), (8, &[2, 0][..]));
    let inputs = Tensor::new(&context, CPU, &[2, 4], &[1.0_f32; 8])?;
    let wide = Tensor::new(&context, CPU, &[2], &[2_i64, 0])?;
    assert_eq!(Batch::new(&inputs, Some(&wide))?.labels()?, [2, 0]);
    let wrong = Tensor::new(&context, CPU, &[2], &[2.0_f64, 0.0])?;
    assert_eq!(Batch::new(&inputs, Some(&wrong)).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Batch::new(&inputs, None)?.labels()?, []);
    Ok(())
}

#[test]
fn a_source_writes_samples() -> Result<()> {
    let context = context();
    let source = Source { dims: vec![2], n: 5, value_size: 1, ..Default::default() };
    let dataset = Dataset::create_callback(&context, &source, |request| {
        assert!(request.labels.is_empty() && request.tokens.is_empty());
        for (place, &index) in request.indices.iter().enumerate() {
            request.inputs[2 * place..][..2].fill(index as f32);
            request.values[place] = -index as f32;
        }
        Ok(request.n)
    })?;
    let options = LoaderOptions { batch: 3, ..Default::default() };
    let mut loader = Loader::new(&dataset, &options)?;
    assert_eq!(loader.next_batch()?.unwrap().inputs()?, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
    assert_eq!(loader.next_batch()?.unwrap().values()?, [-3.0, -4.0]);
    Ok(())
}

#[test]
fn a_stream_of_tokens() -> Result<()> {
    let context = context();
    let source = Source {
        dtype: Dtype::I32,
        dims: vec![2],
        n: -1,
        words: 100,
        classes: 100,
        label_size: 2,
        ..Default::default()
    };
    // An epoch has 5 samples.
    let dataset = Dataset::create_callback(&context, &source, |request| {
        assert!(request.indices.is_empty() && request.inputs.is_empty());
        let n = request.n.min(usize::try_from(5 - request.first).unwrap_or(0));
        for place in 0..n {
            let token = (10 * request.epoch + request.first) as i32 + place as i32;
            request.tokens[2 * place..][..2].fill(token);
            request.labels[2 * place..][..2].fill(token + 1);
        }
        Ok(n)
    })?;
    let options = LoaderOptions { batch: 3, prefetch: 0, ..Default::default() };
    let mut loader = Loader::new(&dataset, &options)?;
    assert_eq!(loader.next_batch()?.unwrap().tokens()?, [0, 0, 1, 1, 2, 2]);
    assert_eq!(loader.next_batch()?.unwrap().labels()?, [4, 4, 5, 5]);
    assert!(loader.next_batch()?.is_none());
    assert_eq!(loader.next_batch()?.unwrap().tokens()?[0], 10);
    Ok(())
}
