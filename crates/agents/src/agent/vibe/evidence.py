"""Prints what Vibe appends to its journals, which it cuts: requests, answers, calls, how turns end. Python runs this first."""

import datetime
import importlib.metadata
import json
import logging
import os
import sys
import threading

# The launcher's standard output, which the server that it starts inherits. Vibe's own lines go nowhere: two writers of long lines
# would break each other's.
OUTPUT = "SKILL_EVALS_VIBE_OUTPUT"
LOCK = threading.Lock()
IS_SERVER = any("vibe-app-server" in word for word in sys.orig_argv)


def say(store, kind, **data):
    agent = store and (store.session_root.name if is_sub_agent(store) else None)
    now = datetime.datetime.now(datetime.UTC).isoformat()
    line = {"type": "evidence", "kind": kind, "timestamp": now, "agent": agent, **data}
    rest = (json.dumps(line, separators=(",", ":")) + "\n").encode()
    with LOCK:
        while rest:
            rest = rest[os.write(output, rest) :]


def meta(store):
    try:
        return json.loads((store.session_root / "meta.json").read_text())
    except (OSError, ValueError):
        return {}


def is_sub_agent(store):
    return store.session_root.name.startswith("child-")


def texts(content):
    return [part["text"] for part in content if part.get("type") == "text"]


def request(store, payload):
    messages = payload["request"]["model_input"]["messages"]["messages"]
    results = {}
    for message in messages:
        if message["role"] == "tool":
            result = {"failed": message["outcome"] != "success", "texts": texts(message["content"])}
            results[message["tool_call_id"]] = result
    system = [text for message in messages if message["role"] == "system" for text in texts(message["content"])]
    model = meta(store).get("config", {}).get("model_name")
    say(store, "request", system=system, results=results, model=model, purpose=payload["request"]["purpose"])


def record(store, kind, payload):
    if kind == "action_intent" and payload["kind"] == "completion":
        request(store, payload)
    elif kind == "action_intent" and payload["kind"] == "tool":
        call = payload["request"]["call"]
        name = call.get("name") or call.get("tool_name") or call["type"]
        say(store, "call", id=payload["request"]["call_id"], tool=name, input=call.get("arguments"))
    elif kind == "action_result":
        event = payload["result"]
        if event["type"].startswith("completion_"):
            say(store, "answer", result=event.get("result"), error=event.get("error"))
        elif event["type"] in ("tool_succeeded", "tool_failed"):
            say(store, "result", id=event["call_id"], result=event["result"])
    elif kind == "core_input":
        command = payload["input"]["command"]
        if command["type"] == "user_message":
            say(store, "message", texts=texts(command["content"]))
        state = payload["transition_shape"]["turn"]
        if state != "running":
            say(store, "turn", state=state)


class Retries(logging.Handler):
    def emit(self, found):
        if found.msg.startswith("Retrying") and len(found.args) == 3:
            error = found.args[2]
            status = getattr(getattr(error, "response", None), "status_code", None)
            say(None, "retry", wait=found.args[1], status=status, message=str(error) or repr(error))


def watch():
    from mistralai_vibe_local_harness.vibe import _storage

    store = _storage.UnifiedSessionStore
    own = store.append_record

    def append_record(self, kind, payload):
        appended = own(self, kind, payload)
        try:
            record(self, kind, payload.model_dump(mode="json", by_alias=True))
        except (AttributeError, KeyError, TypeError) as error:
            say(self, "lost", what=f"{kind}: {error!r}")
        return appended

    store.append_record = append_record
    logging.getLogger("mistralai_vibe_local_harness.vibe.adapters._retry").addHandler(Retries())
    say(None, "program", version=importlib.metadata.version("mistral-vibe"))


if IS_SERVER:
    output = int(os.environ.pop(OUTPUT))
    os.set_inheritable(output, False)
    # Programs that the model runs are not Vibe.
    del os.environ["PYTHONPATH"]
    watch()
elif OUTPUT not in os.environ:
    output = os.dup(1)
    os.set_inheritable(output, True)
    os.environ[OUTPUT] = str(output)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
