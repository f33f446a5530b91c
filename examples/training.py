"""Trains a small network to read digits, batch by batch, until it gets no better at it."""

import argparse
import logging
import math
from collections.abc import Iterator
from functools import partial

import anyio
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import asynchooks as ah

Array = NDArray[np.float64]
Weights = tuple[Array, Array]
Digits = tuple[Array, NDArray[np.int64]]  # images of 8 x 8 points, and what they show

BATCH = 32


def load() -> tuple[Digits, Digits, Digits]:
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    parts = np.split(order, [1197, 1497])
    training, validation, test = ((images[part] / 16, labels[part]) for part in parts)
    return training, validation, test


def read(images: Array, labels: NDArray[np.int64], epochs: int) -> Iterator[Digits]:
    # The same batches each time it is called: a session that is restored reads on where it was.
    random = np.random.default_rng(1)
    for _ in range(epochs):
        order = random.permutation(len(labels))
        for batch in np.split(order, range(BATCH, len(order), BATCH)):
            yield images[batch], labels[batch]


def initial_weights() -> Weights:
    random = np.random.default_rng(2)
    return random.normal(0, 0.1, (64, 32)), random.normal(0, 0.1, (32, 10))


def forward(weights: Weights, images: Array) -> Weights:
    hidden = np.tanh(images @ weights[0])
    exponentials = np.exp(hidden @ weights[1])
    return hidden, exponentials / exponentials.sum(axis=1, keepdims=True)


@ah.op
def descend(weights: Weights, batch: Digits, rate: float = 0.5) -> Weights:
    # New arrays each time: what a variable holds is never changed in place.
    images, labels = batch
    hidden, output = forward(weights, images)
    error = (output - np.eye(10)[labels]) / len(labels)
    hidden_error = error @ weights[1].T * (1 - hidden**2)
    return weights[0] - rate * images.T @ hidden_error, weights[1] - rate * hidden.T @ error


@ah.op(thread=True)
def loss(weights: Weights, digits: Digits) -> float:
    images, labels = digits
    _, output = forward(weights, images)
    return float(-np.log(output[np.arange(len(labels)), labels]).mean())


@ah.op(thread=True)
def accuracy(weights: Weights, digits: Digits) -> float:
    images, labels = digits
    _, output = forward(weights, images)
    return float((output.argmax(axis=1) == labels).mean())


async def main(folder: str | None = None, epochs: int = 200) -> None:
    training, validation, test = await to_thread.run_sync(load)
    with ah.Graph().as_default() as graph:
        batch = ah.from_iterable(partial(read, *training, epochs)).get_next()
        weights = ah.Variable(initial_weights(), name="weights")
        train = weights.assign(descend(weights, batch))
        metrics = {"loss": loss(weights, validation), "accuracy": accuracy(weights, validation)}
        final = ah.FinalOpsHook((ah.get_or_create_global_step(), accuracy(weights, test)))

    evaluation = ah.EvaluationHook(metrics, every_n_steps=200, name="validation")
    patience = ah.stop_if_no_decrease_hook(evaluation, 400, metric_name="loss", min_steps=1000)
    progress = ah.ProgressHook(epochs * math.ceil(len(training[1]) / BATCH), values=metrics)
    async with ah.MonitoredTrainingSession(
        graph,
        checkpoint_dir=folder or ah.MemoryStore(),
        hooks=[ah.SignalHook(), evaluation, patience, progress, final],
        save_checkpoint_steps=200,
        log_step_count_steps=None,
    ) as session:
        while not session.should_stop():
            await session.run(train)
    print("{} steps, {:.1%} of the test images read correctly".format(*final.final_ops_values))


class PrintHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), flush=True)  # what is printed stands above the progress bar


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="asyncio", choices=["asyncio", "trio"])
    parser.add_argument("folder", nargs="?", help="where training goes on if it was stopped")
    args = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO, handlers=[PrintHandler()])
    anyio.run(main, args.folder, backend=args.backend)
