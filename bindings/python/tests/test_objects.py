"""Every method, with a result that is known."""

import json
import logging
import pathlib
import queue
import tempfile
import unittest

import numpy

import troika
from support import line, points, small_mlp


class Objects(unittest.TestCase):
    def setUp(self):
        self.context = troika.Context(seed=1)
        temporary = tempfile.TemporaryDirectory(prefix="troika-python-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_devices(self):
        self.assertEqual(troika.Device.parse("cpu:3"), troika.Device(troika.DeviceKind.CPU, 3))
        self.assertEqual(str(troika.Device(troika.DeviceKind.CUDA, 2)), "cuda:2")
        self.assertGreaterEqual(self.context.device_count(), 8)
        self.assertEqual(self.context.try_device(63), troika.Device.parse("cpu:0"))
        self.assertGreater(self.context.describe_device("cpu:0").memory_bytes, 0)
        self.assertGreaterEqual(len(self.context.all_devices()), 1)
        self.assertIn("cpu", self.context.describe_backends())

    def test_tensors(self):
        for dtype in ("float32", "float64", "int32", "int64", "uint8", "float16", "int8", "int16", "bool"):
            array = numpy.arange(6).reshape(2, 3).astype(dtype)
            tensor = troika.Tensor(self.context, array)
            numpy.testing.assert_array_equal(tensor.numpy(), array)
            self.assertEqual(tensor.numpy().dtype, array.dtype)
        self.assertEqual(troika.Tensor(self.context, numpy.float32(3)).shape, ())
        tensor = troika.Tensor(self.context, [[1.0, 2.0]], "cpu:1", "float32")
        self.assertEqual((tensor.shape, tensor.dtype, str(tensor.device)), ((1, 2), troika.Dtype.F32, "cpu:1"))
        self.assertEqual(repr(tensor), "f32[1, 2] on cpu:1\n[[1., 2.]]")
        tensor.set(numpy.array([[3, 4]], numpy.float32))
        other = troika.Tensor.zeros(self.context, (1, 2))
        tensor.copy_to(other)
        numpy.testing.assert_array_equal(numpy.asarray(other.to("cpu:2")), [[3, 4]])
        pieces = troika.Tensor(self.context, numpy.arange(5)).scatter(["cpu:0", "cpu:1"])
        self.assertEqual([piece.numpy().tolist() for piece in pieces], [[0, 1, 2], [3, 4]])
        troika.all_reduce([tensor, other])
        self.assertEqual((tensor.numpy().tolist(), other.numpy().tolist()), ([[6, 8]], [[6, 8]]))

    def test_dlpack_shares_memory(self):
        array = numpy.arange(4, dtype=numpy.float32)
        tensor = troika.Tensor.from_dlpack(self.context, array)
        array[0] = 9
        self.assertEqual(tensor.numpy()[0], 9)
        view = numpy.from_dlpack(tensor)
        tensor.set(numpy.full(4, 7, numpy.float32))
        self.assertEqual(view.tolist(), [7, 7, 7, 7])
        tensor.close()
        self.assertEqual(view.tolist(), [7, 7, 7, 7])
        for version in (None, (1, 0)):  # capsules that nobody takes
            troika.Tensor(self.context, array).__dlpack__(max_version=version)

    def test_datasets(self):
        inputs = numpy.arange(12, dtype=numpy.uint8).reshape(6, 2)
        data = troika.Dataset.from_arrays(self.context, inputs, numpy.arange(6), mean=0.5, std=2)
        self.assertEqual((len(data), data.info.dims, data.info.classes), (6, (2,), 6))
        numpy.testing.assert_allclose(data.loader(batch=6).next().inputs, (inputs / 255 - 0.5) / 2, rtol=1e-6)
        self.assertEqual(data.subset([5, 0]).loader(batch=2).next().labels.tolist(), [5, 0])
        weighted = data.weigh([1, 0, 2.5, 1, 1, 3]).subset([5, 1]).loader(batch=2).next()
        self.assertEqual((weighted.weights.tolist(), data.loader(batch=2).next().weights), ([3, 0], None))
        with self.assertRaisesRegex(troika.InvalidArgument, "count is 2, need one weight for each of 6 samples"):
            data.weigh([1, 2])
        own = troika.Batch.of(self.context, numpy.zeros((2, 3)), [0, 1], weights=[0.5, 2])
        self.assertEqual(own.weights.tolist(), [0.5, 2])
        parts = data.split([4, 2])
        self.assertEqual([part.loader(batch=9).next().labels.tolist() for part in parts], [[0, 1, 2, 3], [4, 5]])
        self.assertEqual((parts[1] + parts[0]).loader(batch=9).next().labels.tolist(), [4, 5, 0, 1, 2, 3])
        values = troika.Dataset.create_arrays(self.context, numpy.zeros((2, 3)), numpy.array([[1.5], [2.5]])).loader(batch=2).next()
        self.assertEqual((values.values.tolist(), values.labels, len(values)), ([[1.5], [2.5]], None, 2))
        labels = troika.Dataset.create_arrays(self.context, numpy.zeros((2, 3)), [1, 0]).loader(batch=2).next()
        self.assertEqual(labels.labels.tolist(), [1, 0])
        stream = troika.Dataset.token_stream(self.context, b"abcdefg", 3).loader(batch=2).next()
        self.assertEqual((bytes(stream.inputs[1].tolist()), bytes(stream.labels[1].tolist())), (b"def", b"efg"))
        tokens = troika.Dataset.tokens(self.context, numpy.array([[1, 2], [3, 4]], numpy.int32), [0, 1]).loader(batch=2).next()
        self.assertEqual((tokens.inputs.tolist(), tokens.labels.tolist()), ([[1, 2], [3, 4]], [0, 1]))
        self.assertEqual(len(troika.Dataset.synthetic(self.context, (2,), 7, 3)), 7)

    def test_idx_files(self):
        images, labels = numpy.arange(18, dtype=numpy.uint8).reshape(2, 3, 3), numpy.array([1, 0], numpy.uint8)
        for name, array in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
            head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
            (self.folder / name).write_bytes(head + array.tobytes())
        for data in (troika.Dataset.open_directory(self.context, self.folder, "train"),
                     troika.Dataset.open_idx(self.context, self.folder / "train-images-idx3-ubyte",
                                             self.folder / "train-labels-idx1-ubyte")):
            batch = data.loader(batch=2).next()
            numpy.testing.assert_allclose(batch.inputs[:, 0], images / 255, rtol=1e-6)
            self.assertEqual(batch.labels.tolist(), [1, 0])
        resized = troika.Dataset.open_directory(self.context, self.folder, "train", resize_height=6, resize_width=6)
        self.assertEqual(resized.info.dims, (1, 6, 6))

    def test_arrays_that_are_shared_live_as_long_as_the_dataset(self):
        inputs = numpy.ones((4, 2), numpy.float32)
        data = troika.Dataset.from_arrays(self.context, inputs, [0, 1, 0, 1], copy=False)
        inputs[:] = 5
        del inputs
        self.assertEqual(len(troika.data.ARRAYS), 1)
        self.assertEqual(data.loader(batch=1).next().inputs.tolist(), [[5, 5]])
        data.close()
        self.assertEqual(len(troika.data.ARRAYS), 0)

    def test_loaders(self):
        loader = points(self.context, 10).loader(batch=4, shuffle=True, seed=3)
        self.assertEqual([len(batch) for batch in loader], [4, 4, 2])
        self.assertEqual(loader.tell(), troika.LoaderPosition(epoch=1, batch=0, batches=3))
        second = [batch.labels.tolist() for batch in loader]
        loader.seek(troika.LoaderPosition(1, 1, 3))
        self.assertEqual([batch.labels.tolist() for batch in loader], second[1:])
        self.assertEqual((len(loader), loader.samples), (3, 12))
        weighted = points(self.context, 4).loader(batch=4, weights=[0, 1, 0, 0], epoch_samples=8)
        inputs = numpy.concatenate([batch.inputs for batch in weighted])
        self.assertEqual((inputs.shape, len(numpy.unique(inputs, axis=0))), ((8, 2), 1))
        with self.assertRaisesRegex(ValueError, "one for each of 4 samples"):
            troika.Loader(points(self.context, 4), batch=1, weights=[1])

    def test_augmented_loaders(self):
        rows = numpy.arange(64 * 6, dtype=numpy.float32).reshape(64, 1, 2, 3)
        images = troika.Dataset.from_arrays(self.context, rows, [0] * 64)
        first, again = (images.loader(batch=64, seed=5, flip=True).next().inputs.copy() for _ in range(2))
        numpy.testing.assert_array_equal(first, again)
        mirrored = [bool((image == row[:, :, ::-1]).all()) for image, row in zip(first, rows)]
        self.assertEqual([bool((image == row).all()) for image, row in zip(first, rows)], [not m for m in mirrored])
        self.assertTrue(0 < sum(mirrored) < 64)
        shifted = images.loader(batch=64, crop=1).next().inputs
        for image, row in zip(shifted, rows):
            padded = numpy.pad(row, ((0, 0), (1, 1), (1, 1)), mode="reflect")
            self.assertTrue(any((image == padded[:, y:y + 2, x:x + 3]).all() for y in range(3) for x in range(3)))
        with self.assertRaisesRegex(troika.InvalidArgument, "crop is 2, need 0 to 1"):
            images.loader(batch=1, crop=2)

    def test_layers(self):
        model = troika.Model.empty(self.context, "all")
        x = model.add_input("x", (3, 8, 8))
        y = model.add_conv2d("conv", x, 4, 3, padding=1, no_bias=True)
        y = model.add_relu("relu", model.add_batch_norm2d("bn", y))
        z = model.add_conv2d("skip", x, 4, (1, 1))
        y = model.add_max_pool2d("max", model.add_sum("sum", y, z), 2, stride=2)
        y = model.add_avg_pool2d("avg", y, 2)
        y = model.add_dropout("drop", model.add_gelu("gelu", y), 0.1)
        y = model.add_flatten("flat", model.add_adaptive_avg_pool2d("pool", y))
        self.assertEqual(model.describe_value(y).dims, (4,))
        y = model.add_linear("fc", y, 5, bias=False)
        model.set_output(y)
        self.assertEqual([layer.name for layer in model.layers][:3], ["x", "conv", "bn"])
        self.assertEqual(model.describe_layer("conv").dims, (4, 8, 8))
        self.assertEqual(model.info.output_dims, (5,))
        self.assertNotIn("fc.bias", model.parameters)
        self.assertIn("Conv2d(3, 4", str(model))
        self.assertEqual(json.loads(model.to_json())["layers"][1]["name"], "conv")
        self.assertEqual(model.find_layer("fc"), len(model.layers) - 1)
        text = troika.Model.empty(self.context, "text")
        y = text.add_embedding("embed", text.add_input("x", (6,), "int32"), 20, 4)
        y = text.add_gru("gru", text.add_lstm("lstm", y, 8), 7)
        y = text.add_select_step("last", text.add_linear_per_position("each", y, 3))
        text.set_output(y)
        self.assertEqual(text.info.output_dims, (3,))
        text.initialize()
        self.assertEqual(text.predict(numpy.zeros((2, 6), numpy.int32)).shape, (2, 3))

    def test_scores(self):
        report = troika.compute_scores([[3, 1], [0, 2], [5, 1]], [0, 1, 1])
        self.assertAlmostEqual(report.all.accuracy, 2 / 3)
        self.assertEqual(report.confusion.tolist(), [[1, 0], [1, 1]])
        self.assertEqual((report.classes[1].labels, report.classes[0].precision), (2, 0.5))
        with self.assertRaisesRegex(ValueError, "need \\[n, classes\\]"):
            troika.compute_scores([[3, 1], [0, 2]], [0, 1, 1])
        with self.assertRaisesRegex(troika.InvalidArgument, "label of sample 0 is 7"):
            troika.compute_scores([[3, 1]], [7])

    def test_layers_of_signals(self):
        model = troika.Model.empty(self.context, "signals")
        x = model.add_conv1d("conv", model.add_input("x", (4, 16)), 6, 3)
        x = model.add_slice("slice", model.add_layer_norm("layer", model.add_batch_norm1d("bn", x), 1), 2, 0, 12)
        x = model.add_product("product", model.add_sigmoid("sigmoid", x), model.add_tanh("tanh", x))
        x = model.add_group_norm("group", model.add_reshape("image", x, (6, 4, -1)), 2)
        self.assertEqual(model.describe_value(x).dims, (6, 4, 3))
        x = model.add_conv_transpose2d("up", x, 4, 2, stride=2)
        x = model.add_softmax("softmax", model.add_leaky_relu("leaky", model.add_silu("silu", x)))
        x = model.add_concat("concat", [x, x], 1)
        self.assertEqual(model.describe_value(x).dims, (8, 8, 6))
        x = model.add_rms_norm("rms", model.add_mean("mean", x, (2, 3)), 1)
        x = model.add_linear("a", x, 8)
        model.share_parameter("b.weight", "a.weight")
        model.set_output(model.add_linear("b", x, 8))
        model.initialize()
        model.initialize_layers("linear", "weight", "constant", 0.5)
        self.assertTrue((model.get_parameter("b.weight") == 0.5).all())
        with self.assertRaisesRegex(troika.NotFound, "gru"):
            model.initialize_layers("gru", "*", "constant")
        self.assertEqual(model.predict(numpy.ones((2, 4, 16), numpy.float32)).shape, (2, 8))

    def test_loads_what_fits(self):
        def net(head, classes):
            model = troika.Model.empty(self.context, "net")
            model.set_output(model.add_linear(head, model.add_linear("body", model.add_input("x", (3,)), 4), classes))
            model.initialize()
            return model
        source, model = net("head", 9), net("fc", 2)
        report = model.load_memory(source.save_memory(), skip_mismatching=True, name_map="head.*=fc.*", skip="body.bias")
        self.assertEqual((report.loaded, report.mismatching, report.kept), (1, 2, 1))
        self.assertTrue((model.get_parameter("body.weight") == source.get_parameter("body.weight")).all())

    def test_parameters(self):
        model = line(self.context)
        model.initialize("*.weight", "constant", 2.0)
        model.initialize("*.bias", troika.Initializer.CONSTANT, 1.0)
        self.assertEqual(model.predict(numpy.array([[1, 3]], numpy.float32)).tolist(), [[9, 9]])
        model.set_parameter("fc.bias", [5, 6])
        self.assertEqual(model.get_parameter("fc.bias").tolist(), [5, 6])
        self.assertEqual(model.count_parameters(), (2, 6))
        self.assertEqual(list(model.parameters), ["fc.weight", "fc.bias"])
        self.assertTrue(model.parameters["fc.bias"].is_initialized)
        self.assertEqual(model.find_parameter("fc.bias"), 1)
        self.assertEqual(model.describe_parameter("fc.bias"), model.describe_parameter(1))
        with self.assertRaisesRegex(troika.NotFound, "the nearest name is 'fc.bias'"):
            model.get_parameter("fc.bia")
        clone = model.clone()
        self.assertEqual(clone.load_state_dict({name: value * 0 for name, value in model.state_dict().items()}), ([], []))
        self.assertEqual(model.get_parameter("fc.bias").tolist(), [0, 0])
        self.assertEqual(model.load_state_dict({"fc.bias": [1, 2], "other": [3]}, strict=False), (["fc.weight"], ["other"]))
        with self.assertRaises(troika.NotFound):
            model.get_parameter("fc.weigth")

    def test_files(self):
        model = line(self.context)
        model.initialize(seed=4)
        model.save(self.folder / "line.safetensors")
        x = numpy.array([[0.5, -1]], numpy.float32)
        for other in (troika.Model.open(self.context, self.folder / "line.safetensors"),
                      troika.Model.open_memory(self.context, model.save_memory())):
            self.assertEqual(other.predict(x).tolist(), model.predict(x).tolist())
        other = line(self.context)
        self.assertEqual(other.load(self.folder / "line.safetensors").loaded, 2)
        self.assertEqual(other.load_memory(model.save_memory(), allow_partial=True).loaded, 2)
        self.assertIn("fc.weight F32 [2, 2]", troika.inspect_file(self.folder / "line.safetensors"))

    def test_predictions(self):
        model, data = small_mlp(self.context)
        trainer = model.attach(["cpu:0", "cpu:1"])
        trainer.step(data.loader(batch=8).next())
        x = data.loader(batch=32).next().inputs
        expected = model.predict(x)
        features = model.predict(x, layer="relu")
        numpy.testing.assert_allclose(features @ model.get_parameter("fc2.weight").T + model.get_parameter("fc2.bias"), expected,
                                      atol=1e-5)
        self.assertEqual(model.predict(troika.Tensor(self.context, x)).shape, (32, 3))
        for found in (trainer.predict(x), trainer.predict(troika.Tensor(self.context, x)).numpy(),
                      trainer.predict(data.loader(batch=10)), trainer.predict(data.loader(batch=32).next())):
            numpy.testing.assert_allclose(found, expected, atol=1e-5)

    def test_training(self):
        model, data = small_mlp(self.context)
        loader = data.loader(batch=8)
        trainer = model.attach(["cpu:0", "cpu:1"], optimizer="adam", learning_rate=0.01,
                               groups=[{"pattern": "fc1.*", "learning_rate": 0.5}, {"pattern": "*.bias", "frozen": True}])
        self.assertEqual((trainer.info.device_count, list(map(str, trainer.devices))), (2, ["cpu:0", "cpu:1"]))
        result = trainer.step(loader.next())
        self.assertEqual((result.samples, result.step, result.status), (8, 1, troika.Status.OK))
        self.assertEqual((trainer.learning_rate, trainer.get_learning_rate(0)), (0.01, 0.5))
        trainer.learning_rate = 0.02
        self.assertEqual(trainer.learning_rate, 0.02)
        trainer.set_option("beta1", 0.8)
        self.assertEqual(trainer.get_option("beta1"), 0.8)
        metrics = trainer.train_epoch(loader)
        self.assertEqual((metrics.samples, metrics.status), (24, troika.Status.OK))
        self.assertEqual(trainer.train_batches(loader, 2).samples, 16)
        self.assertEqual(trainer.train_batches(loader, 9).status, troika.Status.END_OF_DATA)
        whole = trainer.evaluate(data.loader(batch=5))
        self.assertAlmostEqual(trainer.evaluate(data.loader(batch=9), "cpu:1").loss, whole.loss, places=5)
        self.assertAlmostEqual(trainer.evaluate(data.loader(batch=32).next()).loss, whole.loss, places=5)
        trainer.check_replicas()
        numpy.testing.assert_array_equal(trainer.get_parameter("fc2.weight", "cpu:1"), trainer.get_parameter("fc2.weight"))
        self.assertGreater(trainer.memory(1).parameter_bytes, 0)
        self.assertEqual(trainer.options["learning_rate"], 0.01)
        self.assertEqual(json.loads(trainer.to_json())["devices"], ["cpu:0", "cpu:1"])
        self.assertIn("fc1", trainer.explain(8))
        trainer.divide_loader(loader)

    def test_pieces(self):
        model, data = small_mlp(self.context)
        batch = data.loader(batch=8).next()
        trainer = model.attach("cpu:0", learning_rate=1.0)
        output, result = trainer.forward(batch, input_gradient=True)
        self.assertEqual((output.shape, result.samples), ((8, 3), 8))
        trainer.backward()
        gradient, before = trainer.get_gradient("fc2.bias"), model.get_parameter("fc2.bias")
        self.assertEqual(trainer.get_input_gradient((8, 1, 4, 4)).shape, (8, 1, 4, 4))
        trainer.set_gradient("fc2.bias", gradient * 2)
        self.assertEqual(trainer.apply().step, 1)
        numpy.testing.assert_allclose(model.get_parameter("fc2.bias"), before - 2 * gradient, atol=1e-6)
        trainer.forward(batch, own_loss=True)
        trainer.backward(numpy.ones((8, 3), numpy.float32))
        numpy.testing.assert_allclose(trainer.get_gradient("fc2.bias"), [8, 8, 8], rtol=1e-6)

    def test_states(self):
        model, data = small_mlp(self.context)
        loader = data.loader(batch=8, shuffle=True)
        trainer = model.attach("cpu:0", momentum=0.9, average_decay=0.9, collect_trace=True)
        trainer.train_batches(loader, 3)
        trainer.save(self.folder / "state.safetensors")
        trainer.save(self.folder / "kept.safetensors", keep=2, in_background=True)
        trainer.wait_save()
        self.assertTrue(troika.newest_file(self.folder / "kept.safetensors").endswith("000000000003.safetensors"))
        trainer.save_average(self.folder / "average.safetensors")
        expected = trainer.train_epoch(loader).loss
        self.assertIn("fc1", trainer.trace())
        trainer.save_trace(self.folder / "trace.json")
        self.assertIn("traceEvents", json.loads((self.folder / "trace.json").read_text(encoding="utf-8")))
        other = data.loader(batch=8, shuffle=True)
        self.assertEqual(trainer.load(self.folder / "state.safetensors", other).batch, 3)
        self.assertEqual(trainer.train_epoch(other).loss, expected)
        self.assertEqual(trainer.unwrap().predict(numpy.zeros((1, 1, 4, 4))).shape, (1, 3))

    def test_schedules_and_texts(self):
        model, data = small_mlp(self.context)
        batch = data.loader(batch=8).next()
        trainer = model.attach("cpu:0", learning_rate=1.0, schedule="multi_step", schedule_milestones=[1, 2], schedule_gamma=0.5)
        self.assertEqual([trainer.step(batch).learning_rate for _ in range(3)], [1.0, 0.5, 0.25])
        plateau = model.clone().attach("cpu:0", learning_rate=1.0, schedule="plateau", schedule_patience=0, schedule_gamma=0.1)
        for metric in (1.0, 2.0, 2.0):
            plateau.report_metric(metric)
        self.assertLess(plateau.learning_rate, 0.2)
        table = model.clone().attach("cpu:0", learning_rate=2.0, schedule="table", schedule_table=[0.5, 0.25])
        self.assertEqual(table.learning_rate, 1.0)
        self.assertGreater(model.clone().attach("cpu:0", recompute_layers="fc1").step(batch).loss, 0)

    def test_steps_that_run_on(self):
        import asyncio  # pylint: disable=import-outside-toplevel
        model, data = small_mlp(self.context)
        batch, done = data.loader(batch=8).next().copy(), queue.Queue()
        trainer = model.attach("cpu:0")
        pending = [trainer.step_async(batch, done.put) for _ in range(3)]
        self.assertEqual(pending[-1].wait().step, 3)
        self.assertTrue(pending[0].poll())
        self.assertEqual([done.get(timeout=60).step for _ in range(3)], [1, 2, 3])

        async def step():
            return await trainer.step_async(batch)

        self.assertEqual(asyncio.run(step()).step, 4)

    def test_plans(self):
        model = troika.Model(self.context, "resnet18")
        plan = model.estimate_plan((2, 2, 1), devices=4, batch=64, precision="bf16", trainer={"optimizer": "adam"})
        self.assertEqual((plan.mesh, plan.fits), (troika.Mesh(2, 2, 1), True))
        self.assertEqual(model.choose_plan(devices=4, batch=64).mesh.data, 4)
        trainer = line(self.context).attach(["cpu:0", "cpu:1"], mesh=troika.Mesh(1, 1, 2))
        self.assertEqual(trainer.info.mesh, troika.Mesh(1, 1, 2))

    def test_group_of_one(self):
        with troika.Group(self.context, rank=0, processes=1) as group:
            self.assertEqual((group.info.rank, group.info.processes), (0, 1))
            group.barrier()
            tensor = troika.Tensor(self.context, [1.0, 2.0])
            group.all_reduce(tensor)
            group.broadcast(tensor)
            self.assertEqual(group.all_gather(tensor).numpy().tolist(), [1, 2])
            self.assertEqual(group.reduce_scatter(tensor).numpy().tolist(), [1, 2])
            loader = points(self.context, 4).loader(batch=4, group=group)
            self.assertEqual(len(loader.next()), 4)

    def test_log(self):
        lines = []
        context = troika.Context(log=lambda level, topic, text: lines.append((level, topic, text)), log_level="debug")
        line(context).attach("cpu:0").step(points(context, 4).loader(batch=4).next())
        self.assertTrue(lines)
        self.assertTrue(all(isinstance(level, troika.LogLevel) for level, _, _ in lines))
        with self.assertLogs("troika-test", "DEBUG") as caught:
            context = troika.Context(log=logging.getLogger("troika-test"), log_level="debug")
            line(context).attach("cpu:0").step(points(context, 4).loader(batch=4).next())
        self.assertTrue(caught.output)
