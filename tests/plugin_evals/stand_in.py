"""A scripted model on 127.0.0.1 for Claude Code: it answers by the word CASE:<name> in the first message of a conversation."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text(words):
    return {"type": "text", "text": words}


def tool(name, **given):
    return {"type": "tool_use", "name": name, "input": given}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self.answer(404, "application/json", b"{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self.answer(200, "application/json", b'{"input_tokens": 10}')
        if "/messages" not in self.path:
            return self.answer(200, "application/json", b"{}")
        blocks = self.server.turn(body)
        if isinstance(blocks, int):
            error = {"type": "error", "error": {"type": "api_error", "message": "scripted"}}
            return self.answer(blocks, "application/json", json.dumps(error).encode())
        self.server.count += 1
        number = self.server.count
        for at, block in enumerate(blocks):
            if block["type"] == "tool_use":
                block.setdefault("id", f"toolu_{number:04}_{at}")
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        usage = {"input_tokens": 10, "output_tokens": 10}
        message = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": body.get("model"),
                   "stop_reason": stop, "stop_sequence": None, "usage": usage, "content": blocks}
        if not body.get("stream"):
            return self.answer(200, "application/json", json.dumps(message).encode())
        start = {**message, "content": [], "stop_reason": None}
        events = [{"type": "message_start", "message": start}]
        for at, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"], ensure_ascii=False)}
            events += [{"type": "content_block_start", "index": at, "content_block": empty},
                       {"type": "content_block_delta", "index": at, "delta": delta},
                       {"type": "content_block_stop", "index": at}]
        events += [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
                   {"type": "message_stop"}]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
        self.answer(200, "text/event-stream", "".join(lines).encode())

    def answer(self, status, kind, content):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def texts(content):
    blocks = content if isinstance(content, list) else [text(content)]
    return [block.get("text", "") for block in blocks if block.get("type") == "text"]


def serve(scripts, judge):
    """Serves `scripts`, for each case a list of turns, each a list of blocks or an HTTP status."""
    def turn(body):
        system = " ".join(texts(body.get("system") or []))
        asked = [words for message in body["messages"] if message["role"] == "user" for words in texts(message["content"])]
        if "judge" in system.lower()[:400]:
            return [text(judge(" ".join(asked)))]
        # The last one: the messages of a history come before.
        found = re.findall(r"CASE:([\w-]+)", "\n".join(asked))
        turns = scripts.get(found[-1] if found else "", [[text("Nothing to do.")]])
        # The answers of the model so far say where it is, after what a history had.
        step = sum(any(block.get("type") == "tool_use" for block in message["content"] if isinstance(block, dict))
                   for message in body["messages"] if message["role"] == "assistant")
        blocks = turns[min(step, len(turns) - 1)]
        return blocks if isinstance(blocks, int) else [dict(block) for block in blocks]

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.turn, server.count = turn, 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
