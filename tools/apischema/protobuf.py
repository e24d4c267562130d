"""Write the protobuf field numbers of the served kinds from Kubernetes' Go types.

    python tools/apischema/protobuf.py API_MODULE APIMACHINERY_MODULE FIELDS_JSON NUMBERS_JSON [OLDER_API_MODULE]

The older release adds the API versions that the newer one no longer has.

Struct tags carry the numbers (`protobuf:"bytes,2,opt,name=spec"`). The format is described in
`kubesched.cluster.apiserver.schema.protobuf`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\t(?:\w+\s+)?(\*?)([\w.\[\]*]+)\s+`(.*)`", re.MULTILINE)
JSON_NAME = re.compile(r'json:"([^",]*)')
NUMBER = re.compile(r'protobuf:"\w+,(\d+)')


def rows(package: str, source: str) -> dict[str, str]:
    found = {}
    for name, body in STRUCT.findall(source):
        words = []
        for pointer, kind, tags in FIELD.findall(body):
            key, number = JSON_NAME.search(tags), NUMBER.search(tags)
            if key is not None and number is not None:
                inline = f"+{package}.{kind.rpartition('.')[2]}"
                words.append(f"{number[1]}:{('*' if pointer else '') + key[1] if key[1] else inline}")
        found[f"{package}.{name}"] = " ".join(words)
    return found


def main(api: str, machinery: str, fields: str, target: str, older: str = "") -> None:
    known: dict[str, str] = {}
    for module in filter(None, (older, api)):
        for path in Path(module).glob("*/*/types*.go"):
            known |= rows(f"{path.parts[-3]}.{path.parts[-2]}", path.read_text())
    for path in Path(machinery, "pkg/apis/meta/v1").glob("types*.go"):
        known |= rows("meta.v1", path.read_text())
    waiting, done = list(json.loads(Path(fields).read_text())), {}
    while waiting:
        name = waiting.pop()
        if name in done or not known.get(name):
            continue
        done[name] = known[name]
        waiting.extend(word.partition("+")[2] for word in known[name].split() if "+" in word)
    lines = [f"{json.dumps(name)}:{json.dumps(done[name])}" for name in sorted(done)]
    Path(target).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
