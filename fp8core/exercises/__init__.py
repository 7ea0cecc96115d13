"""Ten small functions to fill in, and a check that says what an answer lacks.

    python -m fp8core.exercises start my_fp8.py     # writes a file with ten empty functions
    python -m fp8core.exercises check my_fp8.py     # checks what is filled in, and teaches

No GPU, no torch and no web app is needed.
"""
