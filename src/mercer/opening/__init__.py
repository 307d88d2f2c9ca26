"""From what a user passes to a set of rows: inputs, columns, labels, weights, shards."""
