#!/usr/bin/env python3
"""The handler of handler.toml as it is usually written with Keras, to compare the two.

On each message it predicts y with an LSTM of the same size from the same numbers of the last 16
messages, then calls train_on_batch. It prints the time of the two together.

    pip install keras jax paho-mqtt            # or tensorflow-cpu, with KERAS_BACKEND=tensorflow
    examples/messages/keras_handler.py                     # made-up messages, without a broker
    examples/messages/keras_handler.py --port 1883         # messages of a broker on this machine
"""

import argparse
import json
import os
import random
import statistics
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
WINDOW = 16


class Handler:
    """Forecasts y of a message, then learns it. `direct`: by predict_on_batch, not predict."""

    def __init__(self, direct):
        import keras
        import numpy

        self.numpy = numpy
        self.direct = direct
        self.model = keras.Sequential(
            [keras.Input((WINDOW, 3)), keras.layers.LSTM(32), keras.layers.Dense(1)]
        )
        self.model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
        self.window = numpy.zeros((1, WINDOW, 3), "float32")
        self.last = 0.0

    def __call__(self, message):
        row = [message["x1"], message["x2"], self.last]
        self.window = self.numpy.roll(self.window, -1, axis=1)
        self.window[0, -1] = row
        if self.direct:
            change = self.model.predict_on_batch(self.window)
        else:
            change = self.model.predict(self.window, verbose=0)
        forecast = self.last + float(change[0, 0])
        label = self.numpy.array([[message["y"] - self.last]], "float32")
        self.model.train_on_batch(self.window, label)
        self.last = message["y"]
        return forecast


def made_up(count):
    """Messages as examples/messages/publish makes them."""
    source = random.Random(1)
    past = [0.0] * 4
    for i in range(count):
        x1 = source.uniform(-1, 1)
        past[i % 4] = source.uniform(-1, 1)
        y = 20 + 5 * x1 + 3 * past[(i + 1) % 4] + 0.2 * (source.random() - 0.5)
        yield {"x1": x1, "x2": past[i % 4], "y": y}


def received(port, count):
    """Messages of a broker on this machine."""
    import queue

    import paho.mqtt.client as mqtt

    messages = queue.Queue()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_connect = lambda client, *_: client.subscribe("mill/+/data")
    client.on_message = lambda _, __, message: messages.put(json.loads(message.payload))
    client.connect("127.0.0.1", port)
    client.loop_start()
    for _ in range(count):
        yield messages.get()
    client.loop_stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--port", type=int, help="of a broker; without it messages are made up")
    parser.add_argument("--direct", action="store_true", help="predict_on_batch, not predict")
    arguments = parser.parse_args()
    if arguments.messages < 30:
        parser.error("--messages: at least 30, because the first 20 are not measured")
    handler = Handler(arguments.direct)
    source = (
        received(arguments.port, arguments.messages)
        if arguments.port
        else made_up(arguments.messages)
    )
    times, errors = [], []
    for message in source:
        begin = time.perf_counter()
        forecast = handler(message)
        times.append((time.perf_counter() - begin) * 1e3)
        errors.append(abs(forecast - message["y"]))
    times = sorted(times[20:])  # the first ones compile
    import keras

    print(
        f"keras {keras.__version__}, {keras.backend.backend()}: predict and train_on_batch: median "
        f"{statistics.median(times):.1f} ms, p99 {times[int(0.99 * (len(times) - 1))]:.1f} ms; "
        f"{len(times)} messages; mean error of the last 100: {statistics.mean(errors[-100:]):.2f}"
    )


if __name__ == "__main__":
    main()
