"""How exact is a result? Its distance from fp64, and our own kernels' bits predicted from the plan."""
