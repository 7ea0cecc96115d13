"""GPUs of further hosts, through Ray. Each has the worker of kernels.worker; the same queue feeds it.

    here:  the app, FarWorker ── pipes ── bridge, a process
                                            │ Ray, which places, watches and ends the actor
    there:                       FarEngine, an actor with one GPU

Only the bridge and the far host import Ray, so a fault of Ray ends a process and not the app. Ray is
optional: requirements-cluster.txt.

    python -m kernels.worker.cluster head 10.0.0.1 -- COMMAND    this host, and the app as COMMAND
    python -m kernels.worker.cluster join 10.0.0.1               a further host
"""
