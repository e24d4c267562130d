"""A refusal as Kubernetes words it: a Status object."""

from __future__ import annotations

import json

from starlette.responses import Response

from kubesched.serving.health import NOSNIFF


def status_answer(code: int, reason: str, message: str, **more: object) -> Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }
    return Response(json.dumps(status, indent=2), code, media_type="application/json", headers=NOSNIFF)
