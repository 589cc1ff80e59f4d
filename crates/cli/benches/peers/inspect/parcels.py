"""A solver that runs a program and a scorer that looks for a word. Inspect's docs name no gate; see the page for the one used."""

import os

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.util import subprocess


@solver
def stand_in():
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        command = [os.environ["AGENT"], "--skill", os.environ["SKILL"], "--text", state.input_text]
        ran = await subprocess(command)
        if not ran.success:
            raise RuntimeError(f"the agent exited with {ran.returncode}: {ran.stderr}")
        state.output.completion = ran.stdout
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def done():
    async def score(state: TaskState, target: Target) -> Score:
        right = ("DONE" in state.output.completion) == (target.text == "DONE")
        return Score(value=CORRECT if right else INCORRECT, answer=state.output.completion)

    return score


@task
def parcels():
    return Task(dataset=json_dataset("cases.jsonl"), solver=stand_in(), scorer=done())
