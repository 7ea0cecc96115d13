"""Jobs run in a process of their own, one a GPU, fed by a queue: a fault, a hang or a lack of memory ends
that process, is told in a sentence, and the next job gets a fresh one. The parent's side imports no torch.

    queue = WorkerQueue(launchers(visible_gpus(os.environ)))
    ticket = queue.submit(GemmJob(recipe="mxfp8", matmul="fprop", m=256, n=256, k=256), session)
    queue.state(ticket)      # Waiting, Starting, Running, Done, Failed or Stopped

What can be asked is listed in kernels.worker.jobs.
"""
