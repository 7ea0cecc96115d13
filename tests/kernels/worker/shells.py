"""Workers of a few lines of shell, which start in no time. GOOD refuses every job, with a sentence."""

from pathlib import Path

READY = """echo '{"say": "ready", "device": "a shell"}'"""
TAKE = r"""read -r line; run=$(echo "$line" | sed 's/.*"run": \([0-9]*\).*/\1/')"""
BEGIN = """echo "{\\"say\\": \\"began\\", \\"run\\": $run}" """
REFUSE = """echo "{\\"say\\": \\"refused\\", \\"run\\": $run, \\"reason\\": \\"it came so far\\"}" """
GOOD = f'{READY}; while {TAKE} && [ -n "$run" ]; do {BEGIN}; {REFUSE}; done'
HANG = "sleep 600"


def until(file: Path) -> str:
    """Wait for a file."""
    return f"until [ -e '{file}' ]; do sleep 0.02; done"
