"""A layer on eight chips: weights are gathered over one axis, sums of the other are scattered."""

from functools import partial

import jax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 4), ("X", "Y"))


@partial(jax.shard_map, mesh=MESH, in_specs=(P("X", "Y"), P("X", "Y"), P("Y", "X")), out_specs=P("X", "Y"))
def mlp(x, W1, W2):
    W1 = jax.lax.all_gather(W1, "X", axis=0, tiled=True)
    W2 = jax.lax.all_gather(W2, "X", axis=1, tiled=True)
    x = jax.lax.all_gather(x, "Y", axis=1, tiled=True)
    h = jax.nn.relu(x @ W1)
    return jax.lax.psum_scatter(h @ W2, "Y", scatter_dimension=1, tiled=True)
