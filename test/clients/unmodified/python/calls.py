"""Makes the calls of a client and prints what happened, for `npm run clients`."""

import json
import os

SETTING = json.loads(os.environ["BRANCHLINE_CLIENT"])
URL = SETTING["url"]
TOKENS = SETTING["tokens"]


def reason_of(error):
    """Returns the status and the body of a response where a client has them."""
    status = getattr(error, "status_code", None)
    if status is None:
        return f"{type(error).__name__} {error}".replace(URL, "")
    return f"{status} {getattr(error, 'body', '')}"


def call(name, expected, work):
    """Makes one call and prints what was expected and what happened as a line of JSON.

    A failed call does not end the program. The name is unique in the program.
    """
    try:
        happened = json.loads(json.dumps(work()))
    except Exception as error:
        happened = f"fails: {reason_of(error)}"
    outcome = {
        "name": name,
        "expected": expected,
        "happened": happened,
        "passed": happened == expected,
    }
    print(json.dumps(outcome), flush=True)
