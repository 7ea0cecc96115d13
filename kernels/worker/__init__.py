"""Jobs run in a separate process, one a GPU, fed by a queue. The parent's side imports no torch.

- queue.py: jobs of all sessions in, tickets out. It decides the next one.
- worker.py: a worker's process, and the thread that feeds and replaces it. child.py: the worker's own side.
- jobs.py: kinds of jobs, and the states of a job. messages.py: between parent and worker.
- cluster/: workers on further hosts.

A fault, a hang or a lack of memory ends a worker. A sentence reports it, and the next job gets a fresh one.

    queue = WorkerQueue(launchers(visible_gpus(os.environ)))
    ticket = queue.submit(GemmJob(recipe="mxfp8", matmul="fprop", m=256, n=256, k=256), session)
    queue.state(ticket)      # Waiting, Starting, Running, Done, Failed or Stopped
"""
